------------------------------- MODULE Splits -------------------------------
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Readers, Splits, None, End, Deaths, Leases, Moves, Broken

VARIABLES enum, reader, answer, late, times, handed, upset, left

vars == <<enum, reader, answer, late, times, handed, upset, left>>

Rule(name) == name \notin Broken
Max(a, b) == IF a > b THEN a ELSE b
Lowest(S) == CHOOSE x \in S : \A y \in S : x <= y
Offsets == 0 .. End - 1

-----------------------------------------------------------------------------
(* What a reader sends. *)

Message(r) == [s \in Splits |->
    IF reader[r].hold[s] = None THEN None
    ELSE [number |-> reader[r].hold[s].number, pos |-> reader[r].hold[s].pos, gives |-> reader[r].hold[s].gives]]

(* What the coordinator makes of it. *)

Counts(r, s, m) ==
    IF m[s] = None THEN FALSE
    ELSE IF ~Rule("assignment numbers") THEN TRUE
    ELSE IF enum.owner[s] = r THEN m[s].number = enum.number[s]
    ELSE enum.owner[s] = None /\ enum.last[s] = r /\ m[s].number = enum.number[s]

Position(r, s, m) ==
    IF ~Counts(r, s, m) THEN enum.pos[s]
    ELSE IF m[s].gives /\ ~Rule("position of the hand-over") THEN enum.pos[s]
    ELSE IF Rule("positions rise") THEN Max(enum.pos[s], m[s].pos) ELSE m[s].pos

GivesBack(r, s, m) == IF Counts(r, s, m) THEN m[s].gives ELSE FALSE

Reported(r, s, m) == IF m[s] = None THEN None ELSE m[s].pos

\* The watermark with which a split that its owner gives up counts until its next owner has read from it.
Stood(r, s, report) == IF enum.arriving[s] # None THEN enum.arriving[s] ELSE report[r][s]

Heard(r, m, reports) ==
    LET report == IF reports THEN [enum.report EXCEPT ![r] = [s \in Splits |-> Reported(r, s, m)]] ELSE enum.report
        moves == \E s \in Splits : GivesBack(r, s, m)
    IN
    [enum EXCEPT
        !.known = @ \union {r},
        !.report = report,
        !.met = @ \union {s \in Splits : Counts(r, s, m) /\ report[r][s] # None},
        !.last_number = IF moves THEN @ + 1 ELSE @,
        !.pos = [s \in Splits |-> Position(r, s, m)],
        !.owner = [s \in Splits |-> IF GivesBack(r, s, m) THEN None ELSE IF Counts(r, s, m) THEN r ELSE @[s]],
        !.last = [s \in Splits |-> IF Counts(r, s, m) THEN r ELSE @[s]],
        !.number = [s \in Splits |-> IF GivesBack(r, s, m) THEN enum.last_number + 1 ELSE @[s]],
        !.revoked = {s \in @ : ~GivesBack(r, s, m)},
        !.arriving = [s \in Splits |->
            IF GivesBack(r, s, m) THEN Stood(r, s, report) ELSE IF Counts(r, s, m) /\ report[r][s] # None THEN None ELSE @[s]]]

\* Every free split goes to a known reader, all under one new number.
Assigned(e, to) ==
    LET given == {s \in Splits : e.owner[s] = None /\ to[s] # None} IN
    IF given = {} THEN e ELSE
    [e EXCEPT
        !.last_number = @ + 1,
        !.owner = [s \in Splits |-> IF s \in given THEN to[s] ELSE @[s]],
        !.last = [s \in Splits |-> IF s \in given THEN to[s] ELSE @[s]],
        !.number = [s \in Splits |-> IF s \in given THEN e.last_number + 1 ELSE @[s]]]

Answer(r, m, e) ==
    [age |-> "young", revoked |-> {s \in e.revoked : e.owner[s] = r},
     add |-> [s \in Splits |->
        IF e.owner[s] # r THEN None
        ELSE IF (IF m[s] = None THEN FALSE ELSE m[s].number = e.number[s]) THEN None
        ELSE [number |-> e.number[s], pos |-> e.pos[s]]],
     gone |-> {s \in Splits : IF m[s] = None THEN FALSE ELSE e.owner[s] # r \/ e.number[s] # m[s].number},
     sent |-> m]

\* Records of the present assignment that this message makes part of the committed position, counted once each.
Committed(r, m) == [s \in Splits |-> [o \in Offsets |->
    LET hold == reader[r].hold[s] IN
    times[s][o] +
        IF (IF hold = None \/ ~Counts(r, s, m) THEN FALSE
            ELSE hold.number = m[s].number /\ o >= hold.from /\ o < Position(r, s, m) /\ o < hold.pos) THEN 1 ELSE 0]]

Hold(r, m) == [s \in Splits |->
    LET hold == reader[r].hold[s] IN
    IF hold = None THEN None
    ELSE IF (IF Counts(r, s, m) THEN hold.number = m[s].number ELSE FALSE)
    THEN [hold EXCEPT !.from = Max(@, IF Position(r, s, m) < hold.pos THEN Position(r, s, m) ELSE hold.pos)]
    ELSE hold]

Take(r, m, reports) ==
    /\ \E to \in [Splits -> enum.known \union {r, None}] :
        LET e == Heard(r, m, reports)
            free == {s \in Splits : e.owner[s] = None}
        IN
        /\ \A s \in Splits \ free : to[s] = None
        /\ enum' = Assigned(e, to)
    /\ times' = Committed(r, m)

Exchange(r) ==
    LET m == Message(r) IN
    /\ reader[r].alive
    /\ Take(r, m, TRUE)
    /\ reader' = [reader EXCEPT ![r].hold = Hold(r, m)]
    /\ answer' = [answer EXCEPT ![r] = Answer(r, m, enum')]
    /\ late' \in {late, [late EXCEPT ![r] = m]}
    /\ UNCHANGED <<handed, upset, left>>

\* An exchange that was on its way for long, or comes a second time. Its answer reaches nobody.
LateExchange(r) ==
    /\ late[r] # None
    /\ Take(r, late[r], FALSE)
    /\ reader' = [reader EXCEPT ![r].hold = Hold(r, late[r])]
    /\ late' = [late EXCEPT ![r] = None]
    /\ UNCHANGED <<answer, handed, upset, left>>

Receive(r) ==
    LET a == answer[r]
        after(s) ==
            IF a.add[s] # None /\ (IF reader[r].hold[s] = None THEN TRUE ELSE reader[r].hold[s].number # a.add[s].number)
            THEN [number |-> a.add[s].number, pos |-> a.add[s].pos, from |-> a.add[s].pos, gives |-> FALSE]
            ELSE IF reader[r].hold[s] = None THEN None
            ELSE IF s \in a.gone /\ a.sent[s].number = reader[r].hold[s].number THEN None
            ELSE IF s \in a.revoked THEN [reader[r].hold[s] EXCEPT !.gives = TRUE] ELSE reader[r].hold[s]
    IN
    /\ reader[r].alive /\ a # None
    /\ reader' = [reader EXCEPT ![r].age = IF a.age = "young" THEN "young" ELSE @, ![r].hold = [s \in Splits |-> after(s)]]
    /\ answer' = [answer EXCEPT ![r] = None]
    /\ UNCHANGED <<enum, late, times, handed, upset, left>>

HandsOut(r, s) ==
    /\ reader[r].alive /\ (Rule("a reader stops by its own clock") => reader[r].age = "young")
    /\ IF reader[r].hold[s] = None THEN FALSE ELSE ~reader[r].hold[s].gives

Read(r, s) ==
    /\ HandsOut(r, s) /\ reader[r].hold[s].pos < End
    /\ reader' = [reader EXCEPT ![r].hold[s].pos = @ + 1]
    /\ handed' = [handed EXCEPT ![s][reader[r].hold[s].pos] = @ + 1]
    /\ UNCHANGED <<enum, answer, late, times, upset, left>>

Revoke(s) ==
    /\ left.moves > 0 /\ enum.owner[s] # None /\ s \notin enum.revoked
    /\ enum' = [enum EXCEPT !.revoked = @ \union {s}]
    /\ left' = [left EXCEPT !.moves = @ - 1]
    /\ UNCHANGED <<reader, answer, late, times, handed, upset>>

LeasePasses(r) ==
    /\ reader[r].age = "young" \/ (IF answer[r] = None THEN FALSE ELSE answer[r].age = "young")
    /\ reader' = [reader EXCEPT ![r].age = "old"]
    /\ answer' = [answer EXCEPT ![r] = IF @ = None THEN None ELSE [@ EXCEPT !.age = "old"]]
    /\ UNCHANGED <<enum, late, times, handed, upset, left>>

EndLease(r) ==
    LET own == {s \in Splits : enum.owner[s] = r} IN
    /\ left.leases > 0 /\ r \in enum.known
    /\ Rule("leases of splits") => reader[r].age = "old" /\ (IF answer[r] = None THEN TRUE ELSE answer[r].age = "old")
    /\ enum' = [enum EXCEPT
        !.known = @ \ {r},
        !.owner = [s \in Splits |-> IF s \in own THEN None ELSE @[s]],
        !.revoked = @ \ own,
        !.arriving = [s \in Splits |-> IF s \in own THEN Stood(r, s, enum.report) ELSE @[s]],
        !.report[r] = [s \in Splits |-> None]]
    /\ upset' = upset \union own
    /\ left' = [left EXCEPT !.leases = @ - 1]
    /\ UNCHANGED <<reader, answer, late, times, handed>>

Die(r) ==
    /\ left.deaths > 0 /\ reader[r].alive
    /\ reader' = [reader EXCEPT ![r].alive = FALSE]
    /\ left' = [left EXCEPT !.deaths = @ - 1]
    /\ UNCHANGED <<enum, answer, late, times, handed, upset>>

Init ==
    /\ enum = [known |-> {}, last_number |-> 0, owner |-> [s \in Splits |-> None], last |-> [s \in Splits |-> None],
               number |-> [s \in Splits |-> 0], pos |-> [s \in Splits |-> 0], revoked |-> {},
               arriving |-> [s \in Splits |-> None], met |-> {}, report |-> [r \in Readers |-> [s \in Splits |-> None]]]
    /\ reader = [r \in Readers |-> [alive |-> TRUE, age |-> "old", hold |-> [s \in Splits |-> None]]]
    /\ answer = [r \in Readers |-> None]
    /\ late = [r \in Readers |-> None]
    /\ times = [s \in Splits |-> [o \in Offsets |-> 0]]
    /\ handed = [s \in Splits |-> [o \in Offsets |-> 0]]
    /\ upset = {}
    /\ left = [deaths |-> Deaths, leases |-> Leases, moves |-> Moves]

Next ==
    \/ \E r \in Readers :
        Exchange(r) \/ LateExchange(r) \/ Receive(r) \/ LeasePasses(r) \/ EndLease(r) \/ Die(r)
    \/ \E r \in Readers, s \in Splits : Read(r, s)
    \/ \E s \in Splits : Revoke(s)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
OneReader == \A s \in Splits : Cardinality({r \in Readers : HandsOut(r, s)}) <= 1

CommittedOnce == \A s \in Splits : \A o \in Offsets : times[s][o] <= 1

NothingSkipped == \A s \in Splits : \A o \in Offsets : o < enum.pos[s] => times[s][o] >= 1

HandedOutOnce == \A s \in Splits \ upset : \A o \in Offsets : handed[s][o] <= 1

Counting == {enum.report[r][s] : r \in enum.known, s \in Splits} \union
    {IF enum.owner[s] \in enum.known /\ Rule("arriving splits count") THEN enum.arriving[s] ELSE None : s \in Splits}
GroupWatermark == IF Counting \ {None} = {} THEN End ELSE Lowest(Counting \ {None})

At(s) == LET r == enum.owner[s] IN
    IF (IF reader[r].hold[s] = None THEN FALSE ELSE reader[r].hold[s].number = enum.number[s])
    THEN Max(enum.pos[s], reader[r].hold[s].pos) ELSE enum.pos[s]

GroupWaitsForSplits == \A s \in enum.met : enum.owner[s] # None => GroupWatermark <= At(s)

Symmetry == Permutations(Readers) \union Permutations(Splits)
=============================================================================
