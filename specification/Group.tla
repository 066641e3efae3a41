------------------------------- MODULE Group -------------------------------
\* The protocol of one group: registration, epochs, leases, reports, ceilings, and what happens when the coordinator's
\* store loses all it has, or its last writes. docs/internals/specification.md says what is modelled, and names the code of
\* each rule and each property. Numbers that only rise in the code (revisions, epochs, versions) are small integers here.
\* There is no clock: "a lease passes" may happen at any time, and what must have happened before it is a condition.
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Readers, Coordinators, None,
    End,        \* event times are 0 .. End; whoever is at End has finished, and MAX is End too
    Drift,      \* max_drift
    Batch,      \* how far one batch gets without a ceiling
    Joint,      \* catch_up: joint, else strict
    Hold,       \* on_lost_reader: hold, else exclude
    Back,       \* how far behind its last position a restarted reader may begin
    Deaths, Leases, Outages, Losses, Failovers,     \* how often each happens at most
    Explicit,   \* each attempt of a coordinator at a commit is a step of its own
    Delayed,    \* an event may be received long after later ones
    Broken      \* the rules that are broken on purpose

VARIABLES
    store,      \* the group as the store has it
    backup,     \* the group to which the next failover returns, once it is chosen
    clock,      \* the highest number that was given out before the last loss
    wire,       \* an event that is delayed
    pos,        \* how far each reader has read (its watermark)
    reader,     \* what each reader's client knows
    answer,     \* answers on their way to the readers
    owed,       \* of each reader: the others whose watermark limits a ceiling that it has received
    old,        \* of each reader: a report of a fenced run that is still on its way
    quiet,      \* the store has heard no reader for longer than a silence that is no outage
    left,       \* how many faults may still come
    cache       \* the group as each coordinator remembers it, or None if that makes no difference

vars == <<store, backup, clock, wire, pos, reader, answer, owed, old, quiet, left, cache>>

Rule(name) == name \notin Broken
Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
Lowest(S) == CHOOSE x \in S : \A y \in S : x <= y
Highest(S) == CHOOSE x \in S : \A y \in S : x >= y
MIN == -1
MAX == End
Span == IF Joint THEN Max(Drift, Batch) ELSE Drift

Nobody == [epoch |-> 0, has |-> "nothing", w |-> 0, offer |-> FALSE, lost |-> "no"]

Fresh(number, grace) ==
    [rev |-> number, version |-> number, watermark |-> MIN, ceiling |-> MAX, cap |-> MAX, grace |-> grace,
     started |-> FALSE, members |-> [r \in Readers |-> Nobody]]

Tick(number) == Max(number, clock) + 1

-----------------------------------------------------------------------------
\* The alignment rule (alignment.py).

Counts(m) == m.has # "nothing" /\ (Hold \/ m.lost = "no")
Counted(g) == {r \in Readers : Counts(g.members[r])}
Reach(m) == IF m.offer /\ m.lost = "no" THEN Min(m.w + Batch, End) ELSE m.w

Watermark(g) ==
    IF ~g.started THEN MIN ELSE IF Counted(g) = {} THEN MAX ELSE Lowest({g.members[r].w : r \in Counted(g)})

Ceiling(g) ==
    LET strict == Min(Watermark(g) + Drift, MAX)
        joint == Lowest({Reach(g.members[r]) : r \in Counted(g)})
        rule == IF ~g.started \/ Counted(g) = {} THEN MAX ELSE IF Joint THEN Max(strict, joint) ELSE strict
    IN  IF g.grace THEN Min(rule, g.cap) ELSE rule

Evaluated(g) ==
    IF <<Watermark(g), Ceiling(g)>> = <<g.watermark, g.ceiling>> THEN g
    ELSE [g EXCEPT !.rev = Tick(g.rev), !.watermark = Watermark(g), !.ceiling = Ceiling(g)]

\* A reader that began again further behind, while a late report of its last run may still count.
Behind(g, r) == g.members[r].epoch # reader[r].epoch /\ (IF old[r] = None THEN FALSE ELSE old[r].w > pos[r])

\* `with` is no part of the message: the readers that the event counts, at or below where they are.
Event(g) ==
    [rev |-> g.rev, watermark |-> g.watermark, ceiling |-> g.ceiling, version |-> g.version,
     with |-> {r \in Counted(g) : g.members[r].w <= pos[r] /\ ~Behind(g, r)}]

\* The first command after a silence of all readers gives back the leases that ended in it (leases.py).
AfterSilence(g) ==
    IF ~quiet \/ ~Rule("a silence of all is an outage") THEN g
    ELSE [g EXCEPT !.members = [r \in Readers |->
        IF g.members[r].lost = "in silence" THEN [g.members[r] EXCEPT !.lost = "no"] ELSE g.members[r]]]

-----------------------------------------------------------------------------
\* A turn of a coordinator, and its commit (turn.py, commit_queue.py).

\* With compare-and-set a turn on an outdated group is refused, and taken again on the group that the store has. So only
\* the last attempt changes anything, whichever coordinator makes it.
Cached == Explicit \/ ~Rule("compare-and-set")
Actors == IF Cached THEN Coordinators ELSE {CHOOSE c \in Coordinators : TRUE}
Base(c) == IF Cached THEN cache[c] ELSE store
Confirmed(c) == Rule("compare-and-set") => Base(c) = store

\* A reader that an event counts may be lost before the event is received. From then on nobody owes it anything.
Pruned(e, R) == IF e = None THEN None ELSE [e EXCEPT !.with = @ \ R]
PrunedAnswers(R) == [a \in Readers |-> IF answer[a] = None THEN None ELSE [answer[a] EXCEPT !.event = Pruned(@, R)]]
Without(R) == [a \in Readers |-> owed[a] \ R]

Commit(c, g, R) ==
    LET new == Evaluated(g)
        same == IF store = None THEN FALSE ELSE new.rev = store.rev
    IN
    /\ Confirmed(c)
    /\ store' = new
    /\ cache' = IF Cached THEN [cache EXCEPT ![c] = new] ELSE cache
    /\ backup' \in IF left.failovers = 0 \/ backup # None \/ new = store THEN {backup} ELSE {backup, store}
    /\ wire' \in IF ~Delayed \/ same THEN {Pruned(wire, R)} ELSE {Pruned(wire, R), Event(new)}

Load(c) ==
    /\ Cached /\ cache[c] # store
    /\ cache' = [cache EXCEPT ![c] = store]
    /\ UNCHANGED <<store, backup, clock, wire, pos, reader, answer, owed, old, quiet, left>>

-----------------------------------------------------------------------------
\* Commands of readers, and what they receive (registering.py, reporting.py; ceiling.py and membership.py of the client).

New == [alive |-> TRUE, epoch |-> 0, rev |-> 0, version |-> 0, ceiling |-> MIN, age |-> "old", lowest |-> MAX, news |-> FALSE]

\* More than a lease has passed since the reader sent its last report that was answered, or whose answer is on its way.
Overdue(r) == reader[r].age = "old" /\ IF answer[r] = None THEN TRUE ELSE answer[r].age = "old"

Knows(g, r) == IF g = None THEN FALSE ELSE g.members[r].epoch = reader[r].epoch

Register(c, r) ==
    LET g == IF Base(c) = None THEN Fresh(clock + 1, TRUE) ELSE AfterSilence(Base(c))
        m == g.members[r]
        epoch == Tick(m.epoch)
        presents == reader[r].rev # 0 /\ Rule("ceiling at registration")
    IN
    /\ reader[r].alive /\ reader[r].epoch = 0
    /\ Commit(c, [g EXCEPT
            !.cap = IF g.grace /\ presents THEN Min(@, reader[r].ceiling) ELSE @,
            !.members[r] = IF Counts(m)
                THEN [epoch |-> epoch, has |-> "inherited", w |-> m.w, offer |-> m.offer /\ m.lost = "no", lost |-> "no"]
                ELSE [Nobody EXCEPT !.epoch = epoch]], {})
    /\ reader' = [reader EXCEPT ![r].epoch = epoch]
    /\ quiet' = FALSE
    /\ UNCHANGED <<clock, pos, answer, owed, old, left>>

Take(c, r, w) ==
    LET g == AfterSilence(Base(c)) IN
    Commit(c, [g EXCEPT !.started = TRUE, !.members[r] =
        [epoch |-> g.members[r].epoch, has |-> "own", w |-> w, offer |-> Joint, lost |-> "no"]], {})

\* A process has one request in progress at a time, so an older answer that is still on its way is lost. Losing it earlier
\* would permit no other step: a lost answer and one that never arrives are the same to all.
Report(c, r) ==
    /\ reader[r].alive /\ reader[r].epoch # 0 /\ Knows(Base(c), r)
    /\ Take(c, r, pos[r])
    /\ answer' = [answer EXCEPT ![r] = [event |-> Event(store'), age |-> "recent"]]
    /\ reader' = [reader EXCEPT ![r].lowest = pos[r], ![r].news = FALSE]
    /\ quiet' = FALSE
    /\ UNCHANGED <<clock, pos, owed, old, left>>

NotKnown(c, r) ==
    /\ reader[r].alive /\ reader[r].epoch # 0
    /\ Confirmed(c) /\ ~Knows(Base(c), r)
    /\ reader' = [reader EXCEPT ![r].epoch = 0]
    /\ answer' = [answer EXCEPT ![r] = None]
    /\ UNCHANGED <<store, backup, clock, wire, pos, owed, old, quiet, left, cache>>

\* A report of a run that has died arrives late.
LateReport(c, r) ==
    /\ old[r] # None /\ Base(c) # None /\ Base(c).members[r].epoch # 0
    /\ IF Rule("epochs") THEN Base(c).members[r].epoch = old[r].epoch ELSE TRUE
    /\ Take(c, r, old[r].w)
    /\ quiet' = FALSE
    /\ UNCHANGED <<clock, pos, reader, answer, owed, old, left>>

Receive(r) ==
    LET e == answer[r].event
        me == reader[r]
        keeps == me.news /\ (me.rev > e.rev \/ (Rule("answers lower news") /\ e.ceiling >= me.ceiling))
    IN
    /\ reader[r].alive /\ answer[r] # None
    /\ reader' = [reader EXCEPT ![r] =
            [me EXCEPT !.age = answer[r].age, !.version = e.version,
                       !.rev = IF keeps THEN me.rev ELSE e.rev, !.ceiling = IF keeps THEN me.ceiling ELSE e.ceiling]]
    /\ owed' = IF keeps THEN owed ELSE [owed EXCEPT ![r] = @ \union (e.with \ {r})]
    /\ answer' = [answer EXCEPT ![r] = None]
    /\ UNCHANGED <<store, backup, clock, wire, pos, old, quiet, left, cache>>

Hear(r, e) ==
    LET me == reader[r]
        trusted ==
            /\ me.age \in IF Rule("news while the last answer is young") THEN {"recent"} ELSE {"recent", "young"}
            /\ Rule("news of one version") => e.version = me.version
            /\ e.watermark <= me.lowest
    IN
    /\ me.alive /\ me.rev # 0 /\ e.rev > me.rev
    /\ (trusted \/ e.ceiling <= me.ceiling) = TRUE
    /\ reader' = [reader EXCEPT ![r].rev = e.rev, ![r].ceiling = e.ceiling, ![r].news = TRUE]
    /\ owed' = [owed EXCEPT ![r] = @ \union (e.with \ {r})]
    /\ UNCHANGED <<store, backup, clock, wire, pos, answer, old, quiet, left, cache>>

HearNews(r) ==
    \/ wire # None /\ Hear(r, wire)
    \/ store # None /\ Hear(r, Event(store))

\* A plan reads at once: a reader whose batch takes long is one that reports late.
Plan(r) ==
    /\ reader[r].alive /\ reader[r].rev # 0
    /\ \E to \in pos[r] + 1 .. Min(pos[r] + Batch, IF Rule("plan within the ceiling") THEN reader[r].ceiling ELSE End) :
        pos' = [pos EXCEPT ![r] = to]
    /\ UNCHANGED <<store, backup, clock, wire, reader, answer, owed, old, quiet, left, cache>>

-----------------------------------------------------------------------------
\* Time.

\* All that the reader has sent so far is older than a lease.
LeasePasses(r) ==
    /\ ~Overdue(r)
    /\ reader' = [reader EXCEPT ![r].age = "old"]
    /\ answer' = [answer EXCEPT ![r] = IF @ = None THEN None ELSE [@ EXCEPT !.age = "old"]]
    /\ UNCHANGED <<store, backup, clock, wire, pos, owed, old, quiet, left, cache>>

\* The store's lease of the reader ends. It began when the report came, so by then the reader is overdue.
EndLease(c, r) ==
    LET gone == IF Overdue(r) /\ ~quiet /\ ~Hold THEN {r} ELSE {} IN
    /\ left.leases > 0 /\ Base(c) # None
    /\ Base(c).members[r].has # "nothing" /\ Base(c).members[r].lost = "no"
    /\ Rule("leases") => Overdue(r)
    /\ Commit(c, [Base(c) EXCEPT !.members[r].lost = IF quiet THEN "in silence" ELSE "alone", !.members[r].offer = FALSE], gone)
    /\ owed' = Without(gone) /\ answer' = PrunedAnswers(gone)
    /\ left' = [left EXCEPT !.leases = @ - 1]
    /\ UNCHANGED <<clock, pos, reader, old, quiet>>

\* A new group is careful for one lease. By then each reader of the lost group has come back, or is overdue.
EndGrace(c) ==
    LET out == IF Base(c) = None THEN {} ELSE {r \in Readers : Base(c).members[r].has = "nothing"}
        gone == {r \in out : Overdue(r)}
    IN
    /\ Base(c) # None /\ Base(c).grace
    /\ Rule("grace of a new group") => out = gone
    /\ Commit(c, [Base(c) EXCEPT !.grace = FALSE, !.cap = MAX], gone)
    /\ owed' = Without(gone) /\ answer' = PrunedAnswers(gone)
    /\ UNCHANGED <<clock, pos, reader, old, quiet, left>>

-----------------------------------------------------------------------------
\* Faults.

Aged(age) == IF age = "recent" THEN "young" ELSE age

\* No command of any reader has got through for longer than a third of a lease.
Silence ==
    /\ left.outages > 0 /\ ~quiet
    /\ quiet' = TRUE /\ left' = [left EXCEPT !.outages = @ - 1]
    /\ reader' = [r \in Readers |-> [reader[r] EXCEPT !.age = Aged(@)]]
    /\ answer' = [r \in Readers |-> IF answer[r] = None THEN None ELSE [answer[r] EXCEPT !.age = Aged(@)]]
    /\ UNCHANGED <<store, backup, clock, wire, pos, owed, old, cache>>

Die(r) ==
    /\ left.deaths > 0 /\ reader[r].alive
    /\ reader' = [reader EXCEPT ![r].alive = FALSE]
    /\ old' = [old EXCEPT ![r] = IF reader[r].epoch = 0 THEN @ ELSE [epoch |-> reader[r].epoch, w |-> pos[r]]]
    /\ answer' = [answer EXCEPT ![r] = None]
    /\ left' = [left EXCEPT !.deaths = @ - 1]
    /\ UNCHANGED <<store, backup, clock, wire, pos, owed, quiet, cache>>

\* A new process goes on where the last one was, or from an older checkpoint. Then the others may be far ahead of it.
Restart(r) ==
    /\ ~reader[r].alive
    /\ reader' = [reader EXCEPT ![r] = New]
    /\ \E from \in Max(0, pos[r] - Back) .. pos[r] :
        LET gone == IF from < pos[r] THEN {r} ELSE {} IN
        /\ pos' = [pos EXCEPT ![r] = from]
        /\ owed' = [Without(gone) EXCEPT ![r] = {}]
        /\ answer' = PrunedAnswers(gone) /\ wire' = Pruned(wire, gone)
    /\ UNCHANGED <<store, backup, clock, old, quiet, left, cache>>

Numbers == {clock} \union IF store = None THEN {} ELSE {store.rev} \union {store.members[r].epoch : r \in Readers}

\* The store loses everything. Numbers follow its clock, which goes on.
Forget ==
    /\ left.losses > 0 /\ store # None
    /\ store' = None /\ backup' = None
    /\ clock' = IF Rule("numbers rise after a loss") THEN Highest(Numbers) ELSE 0
    /\ left' = [left EXCEPT !.losses = @ - 1]
    /\ UNCHANGED <<wire, pos, reader, answer, owed, old, quiet, cache>>

\* A replica takes over that lacks the last writes. It cannot protect a reader whose first report it lacks.
FailOver ==
    /\ left.failovers > 0 /\ backup # None /\ backup # store
    /\ store' = backup /\ backup' = None
    /\ clock' = IF Rule("numbers rise after a loss") THEN Highest(Numbers) ELSE clock
    /\ left' = [left EXCEPT !.failovers = @ - 1]
    /\ LET gone == {r \in Readers : ~(r \in Counted(backup) /\ backup.members[r].w <= pos[r])} IN
        owed' = Without(gone) /\ answer' = PrunedAnswers(gone) /\ wire' = Pruned(wire, gone)
    /\ UNCHANGED <<pos, reader, old, quiet, cache>>

-----------------------------------------------------------------------------
Init ==
    /\ store = Fresh(1, FALSE) /\ backup = None /\ clock = 0 /\ wire = None
    /\ pos = [r \in Readers |-> 0]
    /\ reader = [r \in Readers |-> New]
    /\ answer = [r \in Readers |-> None]
    /\ owed = [r \in Readers |-> {}]
    /\ old = [r \in Readers |-> None]
    /\ quiet = FALSE
    /\ left = [deaths |-> Deaths, leases |-> Leases, outages |-> Outages, losses |-> Losses, failovers |-> Failovers]
    /\ cache = IF Cached THEN [c \in Coordinators |-> store] ELSE None

Steps ==
    \/ \E c \in Actors, r \in Readers :
        Register(c, r) \/ Report(c, r) \/ NotKnown(c, r) \/ LateReport(c, r) \/ EndLease(c, r)
    \/ \E c \in Actors : EndGrace(c) \/ Load(c)
    \/ \E r \in Readers : Receive(r) \/ HearNews(r) \/ Plan(r) \/ Die(r) \/ Restart(r)
    \/ Silence \/ Forget \/ FailOver
Next == Steps \/ \E r \in Readers : LeasePasses(r)

Spec == Init /\ [][Next]_vars

Fair == \A r \in Readers :
    /\ WF_vars(\E c \in Actors : Register(c, r)) /\ WF_vars(\E c \in Actors : NotKnown(c, r))
    /\ WF_vars(\E c \in Actors : Report(c, r)) /\ SF_vars(Receive(r)) /\ WF_vars(Plan(r))
FairSpec == Spec /\ Fair

-----------------------------------------------------------------------------
\* The guarantees 1 to 4 of alignment.py.

PlanWithinCeiling == [][\A r \in Readers : pos'[r] > pos[r] => pos'[r] <= reader[r].ceiling]_vars

\* Whoever has received a ceiling that counts reader r gets none above what r allows, until r is lost, or begins further
\* behind. Whatever r has reported, its position only rises, so the last position is enough to compare with.
NoReaderLeftBehind == \A a \in Readers : \A r \in owed[a] : reader[a].ceiling <= pos[r] + Span

CeilingWithinReach ==
    store # None => \A r \in Counted(store) :
        store.members[r].has = "own" /\ store.members[r].epoch = reader[r].epoch => store.ceiling <= pos[r] + Span

LowestNeverWaits ==
    store # None => (store.started /\ ~store.grace => store.ceiling >= Min(store.watermark + Drift, End))

NobodyWaitsForever == <>(\A r \in Readers : pos[r] = End)

\* Further rules of the group.

Events ==
    {Event(g) : g \in {store, backup} \ {None}} \union ({wire} \ {None})
    \union {answer[r].event : r \in {r \in Readers : answer[r] # None}}
RevisionNamesOneEvent == \A a, b \in Events : a.rev = b.rev => a.watermark = b.watermark /\ a.ceiling = b.ceiling

FencedMovesNothing ==
    store # None => \A r \in Readers :
        store.members[r].has = "own" /\ store.members[r].epoch = reader[r].epoch => store.members[r].w <= pos[r]

\* TLC 2.18 ignores a set of only two permutations. So the identity of the coordinators is always one of them.
Symmetry == Permutations(Readers) \union IF Cached THEN Permutations(Coordinators) ELSE {[c \in Coordinators |-> c]}
=============================================================================
