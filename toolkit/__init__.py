"""Tool use by local language models: plugins, call interception during decoding, tuning and planning."""
