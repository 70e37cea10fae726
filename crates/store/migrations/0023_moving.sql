-- What `copydesk move` has written down in the place that is left and in the one that is entered: one row, if any.
CREATE TABLE moving (
    id       {int} PRIMARY KEY,
    -- Of the place that is left: copying, draining, closed, moved; of the one that is entered: arriving, arrived.
    state    TEXT NOT NULL,
    -- The same in both places, and made anew for every move.
    move_id  {id} NOT NULL,
    -- Which place this row was written in, so that it means nothing in a copy of it.
    here     TEXT NOT NULL,
    -- The other place, without its password.
    there    TEXT NOT NULL,
    -- The move that has brought everything here before this one, if one has.
    came_by  {id},
    -- Nothing is begun while this is 1: no job, no delivery.
    at_rest  {int} NOT NULL,
    since    {int} NOT NULL
) {strict};
