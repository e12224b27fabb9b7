"""Rules of jobs: names, paths, progress and messages. Pure functions without I/O, time and randomness.

    submit            claim              done without an error
    ──────► pending ─────────► working ─────────────────────────► success
               ▲ │               │ │
               │ │      requeued │ │  any error, cancelled, or lease expired too often
               └─┼───────────────┘ └────────────────────────────► error
                 └──────────────────────────────────────────────►
                    repository deleted or unhealthy, no worker for the action

``success`` and ``error`` are final. The sync status of a repository has the same states.
"""
