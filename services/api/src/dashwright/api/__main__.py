"""Entry point of the gateway."""

from dashwright.common.imports import without_garbage_collection


def main() -> None:
    """Run the gateway until a signal stops it, and exit with its status."""
    with without_garbage_collection():
        from dashwright.api.main import main as run
    run()


if __name__ == "__main__":
    main()
