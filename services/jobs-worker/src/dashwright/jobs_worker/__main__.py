"""Entry point of the jobs worker."""

from dashwright.common.imports import without_garbage_collection


def main() -> None:
    """Run the jobs worker until a signal stops it, and exit with its status."""
    with without_garbage_collection():
        from dashwright.jobs_worker.main import main as run
    run()


if __name__ == "__main__":
    main()
