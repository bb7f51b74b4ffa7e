"""RestGPT: planner, API selector, caller and parser over any OpenAPI service."""
