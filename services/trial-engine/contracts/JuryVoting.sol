// SPDX-License-Identifier: MIT
pragma solidity 0.8.19;

/// @title The verdict of five jurors in one case.
/// @notice Each juror votes once, before the case closes. It closes when all five have voted or its deadline has
/// passed. The verdict is guilty when at least 51 % of the five voted guilty; a case that misses votes at its deadline
/// is not guilty. Nobody owns a case: nobody can change a vote, the jurors, the deadline or the verdict.
contract JuryVoting {
    enum Ballot {
        None,
        Guilty,
        NotGuilty
    }

    enum Outcome {
        Open,
        Guilty,
        NotGuilty
    }

    struct Seat {
        bool sworn;
        Ballot ballot;
        uint64 votedIn;
    }

    /// @notice All there is to know of a case, in one call.
    struct Reading {
        bytes32 logHash;
        uint256 deadline;
        uint256 time;
        uint256 openedIn;
        Outcome outcome;
        uint256 guilty;
        uint256 notGuilty;
        address[5] jurors;
        Ballot[5] ballots;
        uint256[5] votedIn;
    }

    uint256 public constant JURORS = 5;
    uint256 public constant NEEDED_PERCENT = 51;

    // Storage, not immutables: the code of every case is the same then, and can be compared with this source's.
    bytes32 public logHash;
    uint256 public deadline;
    uint256 public openedIn;
    uint256 private _guilty;
    uint256 private _notGuilty;
    bool private _finalized;
    address[5] private _jurors;
    mapping(address => Seat) private _seats;

    event Opened(bytes32 indexed logHash, uint256 deadline);
    event Voted(address indexed juror, bool guilty);
    event Finalized(bool guilty, uint256 guiltyVotes, uint256 notGuiltyVotes);

    error BadJuror(address juror);
    error DeadlinePassed();
    error NotAJuror(address caller);
    error AlreadyVoted(address juror);
    error Closed();
    error StillOpen();
    error AlreadyFinalized();

    /// @param jurors Five different addresses, none of them zero.
    /// @param logHash_ SHA-256 that the log of the session had when the vote began.
    /// @param deadline_ The last second, in Unix time, at which a vote counts.
    /// @dev What is sent along is shared out among the jurors, so that they can pay for their votes.
    constructor(address[5] memory jurors, bytes32 logHash_, uint256 deadline_) payable {
        if (deadline_ <= block.timestamp) revert DeadlinePassed();
        logHash = logHash_;
        deadline = deadline_;
        openedIn = block.number;
        _jurors = jurors;
        uint256 share = msg.value / JURORS;
        for (uint256 i = 0; i < JURORS; i++) {
            address juror = jurors[i];
            if (juror == address(0) || _seats[juror].sworn) revert BadJuror(juror);
            _seats[juror].sworn = true;
            payable(juror).transfer(i == 0 ? msg.value - share * (JURORS - 1) : share);
        }
        emit Opened(logHash_, deadline_);
    }

    /// @notice Casts the caller's one vote. The fifth one finalizes the case.
    function vote(bool guilty) external {
        Seat storage seat = _seats[msg.sender];
        if (!seat.sworn) revert NotAJuror(msg.sender);
        if (seat.ballot != Ballot.None) revert AlreadyVoted(msg.sender);
        if (verdict() != Outcome.Open) revert Closed();
        seat.ballot = guilty ? Ballot.Guilty : Ballot.NotGuilty;
        seat.votedIn = uint64(block.number);
        if (guilty) _guilty++;
        else _notGuilty++;
        emit Voted(msg.sender, guilty);
        if (_guilty + _notGuilty == JURORS) _finalize();
    }

    /// @notice Puts on record the verdict of a case that misses votes at its deadline. Anyone may call it.
    function finalize() external {
        if (verdict() == Outcome.Open) revert StillOpen();
        if (_finalized) revert AlreadyFinalized();
        _finalize();
    }

    /// @notice The verdict, Open while votes may still come.
    function verdict() public view returns (Outcome) {
        if (_guilty + _notGuilty == JURORS) {
            return _guilty * 100 >= NEEDED_PERCENT * JURORS ? Outcome.Guilty : Outcome.NotGuilty;
        }
        return block.timestamp > deadline ? Outcome.NotGuilty : Outcome.Open;
    }

    /// @notice The votes counted so far.
    function tally() external view returns (uint256 guilty, uint256 notGuilty) {
        return (_guilty, _notGuilty);
    }

    /// @notice Everything about the case as of this block.
    function reading() external view returns (Reading memory r) {
        r.logHash = logHash;
        r.deadline = deadline;
        r.time = block.timestamp;
        r.openedIn = openedIn;
        r.outcome = verdict();
        r.guilty = _guilty;
        r.notGuilty = _notGuilty;
        r.jurors = _jurors;
        for (uint256 i = 0; i < JURORS; i++) {
            Seat storage seat = _seats[_jurors[i]];
            r.ballots[i] = seat.ballot;
            r.votedIn[i] = seat.votedIn;
        }
    }

    function _finalize() private {
        _finalized = true;
        emit Finalized(verdict() == Outcome.Guilty, _guilty, _notGuilty);
    }
}
