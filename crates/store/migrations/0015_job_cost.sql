-- What a prompt may cost, in millionths of a US dollar: as a project has it, and as a job was given it.
ALTER TABLE projects ADD COLUMN job_cost {int};
ALTER TABLE jobs ADD COLUMN max_cost {int};
