"""People, of the SDK."""

from __future__ import annotations

import urllib.parse
from typing import Any

from det.experimental._session import Session


class User:
    """Who may log in; what is known of them at the time of reload(). What others than administrators
    may change is their own display name and password.
    """

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.user_id = int(told["id"])
        self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        self.username = str(told.get("username") or "")
        self.admin = bool(told.get("admin"))
        self.active = bool(told.get("active"))
        self.remote = bool(told.get("remote"))
        self.display_name = str(told.get("displayName") or "")
        agent: dict[str, Any] = told.get("agentUserGroup") or {}
        self.agent_uid: int | None = agent.get("agentUid")
        self.agent_gid: int | None = agent.get("agentGid")
        self.agent_user: str | None = agent.get("agentUser")
        self.agent_group: str | None = agent.get("agentGroup")

    def reload(self) -> User:
        self._take(self._session.get(f"/api/v1/users/{self.user_id}")["user"])
        return self

    def rename(self, new_username: str) -> None:
        self._patch(username=new_username)

    def activate(self) -> None:
        self._patch(active=True)

    def deactivate(self) -> None:
        self._patch(active=False)

    def change_display_name(self, display_name: str) -> None:
        self._patch(displayName=display_name)

    def change_password(self, new_password: str) -> None:
        self._patch(password=new_password)

    def link_with_agent(
        self,
        agent_gid: int | None = None,
        agent_uid: int | None = None,
        agent_group: str | None = None,
        agent_user: str | None = None,
    ) -> None:
        """As whom their tasks run on the nodes."""
        told = {
            "agentGid": agent_gid,
            "agentUid": agent_uid,
            "agentGroup": agent_group,
            "agentUser": agent_user,
        }
        given = {name: value for name, value in told.items() if value is not None}
        self._patch(agentUserGroup=given)

    def _patch(self, **changes: Any) -> None:
        self._take(self._session.patch(f"/api/v1/users/{self.user_id}", changes)["user"])

    def __repr__(self) -> str:
        return f"User(user_id={self.user_id}, username={self.username!r})"


def create_user(
    session: Session, username: str, admin: bool, password: str | None, remote: bool
) -> User:
    user = {"username": username, "admin": admin, "active": True, "remote": remote}
    body: dict[str, Any] = {"user": user}
    if password is not None:
        body["password"] = password
    return User(session, session.post("/api/v1/users", body)["user"])


def get_user(session: Session, user_id: int) -> User:
    return User(session, session.get(f"/api/v1/users/{user_id}")["user"])


def get_user_by_name(session: Session, username: str) -> User:
    quoted = urllib.parse.quote(username, safe="")
    return User(session, session.get(f"/api/v1/users/{quoted}/by-username")["user"])


def list_users(session: Session, active: bool | None) -> list[User]:
    found = session.pages("/api/v1/users", "users", active=active)
    return [User(session, told) for told in found]


def whoami(session: Session) -> User:
    return User(session, session.get("/api/v1/me")["user"])
