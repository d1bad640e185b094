ALTER TABLE recognitions MODIFY SETTING merge_selector_base = 5;
