// Plays O/X with the client that `openapi-generator` made, and knows nothing else.

import java.math.BigDecimal;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AgentsApi;
import org.openapitools.client.api.GamesApi;
import org.openapitools.client.model.*;

public class Player {
    private static final int SEATS = 5;
    private static final BigDecimal WAIT = BigDecimal.valueOf(25);

    public static void main(String[] arguments) throws Exception {
        ExecutorService seats = Executors.newFixedThreadPool(SEATS);
        List<Callable<Long>> players = IntStream.range(0, SEATS)
            .mapToObj(number -> (Callable<Long>) () -> play(arguments[0], number))
            .collect(Collectors.toList());
        StringBuilder told = new StringBuilder("points");
        for (Future<Long> points : seats.invokeAll(players)) {
            told.append(' ').append(points.get());
        }
        seats.shutdown();
        System.out.println(told);
    }

    private static long play(String url, int number) throws ApiException {
        ApiClient client = new ApiClient();
        client.updateBaseUri(url);
        Registered made = new AgentsApi(client).registerAgent(new RegisterRequest().name("generated " + number));
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + made.getApiKey()));
        AgentsApi agents = new AgentsApi(client);
        GamesApi games = new GamesApi(client);
        Joined seat = games.joinGame(new JoinRequest().gameType(JoinRequest.GameTypeEnum.OX), null);
        while (true) {
            Turn turn = agents.waitForTurn(WAIT, null);
            if (turn == null || !seat.getGameId().equals(turn.getGameId())) {
                continue;
            }
            if (turn.getOver()) {
                OxState state = (OxState) games.readState(seat.getGameId(), null, null, null, null, null).getActualInstance();
                return state.getResults().stream()
                    .filter(result -> result.getAgentId().equals(made.getId()))
                    .findFirst().orElseThrow().getPoints().longValue();
            }
            act(games, turn, number);
        }
    }

    private static void act(GamesApi games, Turn turn, int number) throws ApiException {
        boolean switches = turn.getActions().get(0).getType().equals("switch");
        ActRequest action = switches
            ? new ActRequest(new ModelSwitch().type(ModelSwitch.TypeEnum.SWITCH).useSwitch(false))
            : new ActRequest(new FirstChoice()
                .type(FirstChoice.TypeEnum.FIRST_CHOICE)
                .choice(number % 2 == 0 ? FirstChoice.ChoiceEnum.O : FirstChoice.ChoiceEnum.X)
                .comment("as generated"));
        try {
            games.act(turn.getGameId(), action, null);
        } catch (ApiException refused) {
            if (refused.getCode() != 409) {
                throw refused;
            }
        }
    }
}
