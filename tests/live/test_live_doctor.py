"""The doctor at the real server: a good one, a wrong token, legacy tokens switched off, a personal token."""

from dataclasses import replace

import httpx
import pytest
from live_server import LiveServer

from fire_toolkit.labelstudio.doctor import Finding, examine


def found(live_server: LiveServer, token: str) -> dict[str, Finding]:
    findings = list(examine(replace(live_server.connection, token=token)))
    assert not any(token in repr(finding) for finding in findings)
    return {finding.name: finding for finding in findings}


def test_a_fresh_server_is_well_and_refuses_a_wrong_token(live_server: LiveServer) -> None:
    findings = list(examine(live_server.connection))
    assert {finding.name: finding.state for finding in findings} == dict.fromkeys(
        ("connection", "server", "token"), "good"
    )
    token = found(live_server, "0" * 40)["token"]
    assert ("401: the server does not accept the token" in token.words, token.is_servers) == (True, True)


# The SDK itself calls a method of pydantic that is going away.
@pytest.mark.filterwarnings("ignore:The `parse_obj` method is deprecated:DeprecationWarning")
def test_tokens_switched_off_are_refused_and_personal_ones_accepted(live_server: LiveServer) -> None:
    with live_server.as_admin() as http:
        personal = http.post("/api/token/", json={}).raise_for_status().json()["token"]
        url = live_server.connection.url
        access = http.post("/api/token/refresh/", json={"refresh": personal}).json()["access"]
        _allow_legacy_tokens(url, access, allowed=False)
        try:
            refused = found(live_server, live_server.connection.token)["token"]
            assert (refused.state, "401" in refused.words) == ("bad", True)
            assert "API Tokens Settings" in refused.words
            accepted = found(live_server, personal)["token"]
            assert accepted.state == "good"
        finally:
            _allow_legacy_tokens(url, access, allowed=True)


def _allow_legacy_tokens(url: str, access: str, *, allowed: bool) -> None:
    content = {"legacy_api_tokens_enabled": allowed, "api_tokens_enabled": True}
    headers = {"Authorization": f"Bearer {access}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=None) as http:
        http.post("/api/jwt/settings", json=content).raise_for_status()
