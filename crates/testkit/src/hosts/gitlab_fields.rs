//! The parameters that GitLab's documentation names for the requests that the fake knows, with their types. GitLab's own
//! description of version 4 is in no package that could be fetched, so this list stands in for it. Source: the pages
//! "Merge requests API" (List project merge requests, Create MR, Update MR), "Notes API" (List all merge request notes, Create
//! new merge request note, Create new issue note) and "Users API" (List users) of GitLab's documentation, version 17.

use super::exchange::Is;

/// `GET /projects/:id/merge_requests`.
pub(super) const LIST: [&str; 38] = [
    "approved_by_ids",
    "approved_by_usernames",
    "approver_ids",
    "assignee_id",
    "author_id",
    "author_username",
    "created_after",
    "created_before",
    "deployed_after",
    "deployed_before",
    "environment",
    "iids[]",
    "in",
    "labels",
    "merge_user_id",
    "merge_user_username",
    "milestone",
    "my_reaction_emoji",
    "not",
    "order_by",
    "page",
    "per_page",
    "render_html",
    "reviewer_id",
    "reviewer_username",
    "scope",
    "search",
    "sort",
    "source_branch",
    "source_project_id",
    "state",
    "target_branch",
    "updated_after",
    "updated_before",
    "view",
    "wip",
    "with_labels_details",
    "with_merge_status_recheck",
];

/// `POST /projects/:id/merge_requests`. The first three are required.
pub(super) const CREATE: [(&str, Is); 16] = [
    ("source_branch", Is::Text),
    ("target_branch", Is::Text),
    ("title", Is::Text),
    ("allow_collaboration", Is::Flag),
    ("allow_maintainer_to_push", Is::Flag),
    ("approvals_before_merge", Is::Number),
    ("assignee_id", Is::Number),
    ("assignee_ids", Is::List),
    ("description", Is::Text),
    ("labels", Is::Text),
    ("merge_after", Is::Text),
    ("milestone_id", Is::Number),
    ("remove_source_branch", Is::Flag),
    ("reviewer_ids", Is::List),
    ("squash", Is::Flag),
    ("target_project_id", Is::Number),
];

/// `PUT /projects/:id/merge_requests/:merge_request_iid`. At least one is required.
pub(super) const UPDATE: [(&str, Is); 17] = [
    ("add_labels", Is::Text),
    ("allow_collaboration", Is::Flag),
    ("allow_maintainer_to_push", Is::Flag),
    ("assignee_id", Is::Number),
    ("assignee_ids", Is::List),
    ("description", Is::Text),
    ("discussion_locked", Is::Flag),
    ("labels", Is::Text),
    ("merge_after", Is::Text),
    ("milestone_id", Is::Number),
    ("remove_labels", Is::Text),
    ("remove_source_branch", Is::Flag),
    ("reviewer_ids", Is::List),
    ("squash", Is::Flag),
    ("state_event", Is::Text),
    ("target_branch", Is::Text),
    ("title", Is::Text),
];

/// `GET /projects/:id/merge_requests/:merge_request_iid/notes`, and the same for issues.
pub(super) const NOTES: [&str; 5] = ["activity_filter", "order_by", "page", "per_page", "sort"];

/// `POST /projects/:id/merge_requests/:merge_request_iid/notes`. The first is required.
pub(super) const NEW_NOTE: [(&str, Is); 4] =
    [("body", Is::Text), ("created_at", Is::Text), ("internal", Is::Flag), ("merge_request_diff_head_sha", Is::Text)];

/// `POST /projects/:id/issues/:issue_iid/notes`. The first is required.
pub(super) const NEW_ISSUE_NOTE: [(&str, Is); 4] =
    [("body", Is::Text), ("confidential", Is::Flag), ("created_at", Is::Text), ("internal", Is::Flag)];

/// `GET /users`.
pub(super) const USERS: [&str; 11] = [
    "active",
    "blocked",
    "exclude_external",
    "exclude_internal",
    "external",
    "humans",
    "page",
    "per_page",
    "search",
    "username",
    "without_project_bots",
];
