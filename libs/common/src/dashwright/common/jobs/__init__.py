"""The life of a job, pure: its states, its name, what it reports, and the paths and names it derives. No I/O, no time, no randomness.

    submit            claim              done without an error
    ──────► pending ─────────► working ─────────────────────────► success
               ▲ │               │ │
               │ │   handed back │ │  any error, cancelled, or lapsed too often
               └─┼───────────────┘ └────────────────────────────► error
                 └──────────────────────────────────────────────►
                    repository gone or unhealthy, no worker for it

``success`` and ``error`` are final. The sync status of a repository takes the same states.
"""
