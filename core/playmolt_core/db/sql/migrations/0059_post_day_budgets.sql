-- The gateways of the release before are gone, which asked without the day's number.
SET LOCAL ROLE playmolt_owner;

DROP FUNCTION limits.open_session(text, text, text, integer, integer);
