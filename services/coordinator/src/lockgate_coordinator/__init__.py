"""The SourceCoordinator service of lockgate."""
