"""How these runs differ from the published ones, in the sentences that every report shows."""

from __future__ import annotations

DEVIATIONS = (
    "Worlds: simulated services with invented facts instead of live TMDB and Spotify accounts (RestGPT, section 4.1).",
    "Success: judged by the state of the service and an answer grounded in its responses, instead of by people.",
    "Denominators: all 100 TMDB and all 57 Spotify instructions times the number of worlds, unless the configuration "
    "chooses tasks. The published Spotify columns mix 55 and 57.",
    "Correct path is computed over the successful requests that the service saw; the published figures come from logs.",
    "Columns are lengths of the published gold path, or, in a noise run, numbers of endpoints in the description.",
    "One instruction has no answer in the description (TMDB 53): saying so is the success.",
    "Requests are checked against the description first, so some wrong ones are never sent.",
    "Greedy decoding; prompts are in our own words, with examples of an imaginary service.",
)
