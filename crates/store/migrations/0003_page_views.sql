-- How a project's page views are collected, counted and kept, as JSON; see ViewSettings.
ALTER TABLE projects ADD COLUMN views TEXT NOT NULL DEFAULT '{}';

-- Which project a documentation site belongs to: the domains in projects.views, to be found by.
CREATE TABLE project_domains (
    domain     TEXT PRIMARY KEY,
    project_id {id} NOT NULL REFERENCES projects (id) ON DELETE CASCADE
) {strict};
CREATE INDEX project_domains_by_project ON project_domains (project_id);
