"""Protections of the whole API: security headers, the token of the metrics, and the audit of failed logins."""

from .conftest import Api, StartApi, basic


async def test_responses_forbid_sniffing_and_storing(api: Api) -> None:
    """Browsers may neither guess the type of a response nor store a response with a secret. Over plain HTTP, HTTPS is not demanded."""
    account = await api.account("robot")
    for path in ("/api/health", "/api/org", "/nowhere"):
        async with api.session.get(path, headers={"Authorization": basic("admin", "admin")}) as response:
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert "Strict-Transport-Security" not in response.headers
    request = api.session.post(
        f"/api/serviceaccounts/{account}/tokens", json={"name": "t"}, headers={"Authorization": basic("admin", "admin")}
    )
    async with request as response:
        assert (response.status, response.headers["Cache-Control"]) == (200, "no-store")


async def test_metrics_need_their_token(start_api: StartApi) -> None:
    """Requests for metrics need the token that the setting ``metrics_token`` defines."""
    api = await start_api(metrics_token="of the scraper")
    for authorization, status in ((None, 401), ("Bearer wrong", 401), ("Bearer of the scraper", 200)):
        headers = {} if authorization is None else {"Authorization": authorization}
        async with api.session.get("/metrics", headers=headers) as response:
            assert response.status == status


async def test_failed_logins_are_audited_without_filling_the_audit(start_api: StartApi) -> None:
    """For each address and login, the first failed login is audited, and the failed login that reaches the limit.

    The text of an unknown login is not kept, because it may be a password.
    """
    api = await start_api(login_attempts=3)
    # The first and the third failure of ``admin`` are recorded, and the first one of the unknown login.
    for login in ["admin"] * 6 + ["typed-my-password"] * 2:
        await api("GET", "/api/org", auth=basic(login, "wrong"))
    await api.stop()
    statement = """select array_agg(concat_ws(' ', object, login, address, status, details ->> 'failures') order by id)
        from audit_event where action = 'login' and outcome = 'refused'"""
    assert await api.sql(statement) == ["user:1 admin 127.0.0.1 401 1", "user:1 admin 127.0.0.1 401 3", "  127.0.0.1 401 1"]
