-- Adds the pieces of an account's plate if it still has recognitions, such as those added after an erasure.
--
-- Parameters: user_id (account), plate (normalised).
-- Does the same as the view plate_pieces_of_recognitions on each insert.
INSERT INTO plate_pieces
SELECT user_id, arrayJoin(ngrams(concat('^', translate(plate, 'OQDILZSGB', '000112568'), '$'), 2)), plate, last_day
FROM
(
    SELECT user_id, plate, toDate(max(ts)) AS last_day
    FROM recognitions
    WHERE user_id = {user_id:UUID}
      AND plate = {plate:String}
    GROUP BY user_id, plate
)
