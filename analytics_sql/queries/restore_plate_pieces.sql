-- Adds the pieces of an owner's plate as far as there are recognitions of it, such as came after an erasure.
--
-- Parameters: user_id (owner), plate (normalised).
-- As the view plate_pieces_of_recognitions does with each insert.
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
