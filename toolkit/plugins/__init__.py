"""The open plugin standard: manifests, linting, compiling to a prompt fragment."""
