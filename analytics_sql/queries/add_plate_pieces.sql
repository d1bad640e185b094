-- Adds the pieces of all plates of a slice, for rows that were there before the table.
--
-- Parameters: slices (into how many the plates are divided), slice (from 0).
-- As the view plate_pieces_of_recognitions does with each insert.
INSERT INTO plate_pieces
SELECT user_id, arrayJoin(ngrams(concat('^', translate(plate, 'OQDILZSGB', '000112568'), '$'), 2)), plate, last_day
FROM
(
    SELECT user_id, plate, toDate(max(ts)) AS last_day
    FROM recognitions
    WHERE cityHash64(plate) % {slices:UInt32} = {slice:UInt32}
    GROUP BY user_id, plate
)
SETTINGS max_threads = 1, max_block_size = 16384
