// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** A client over REST, with values in binary. */
final class RestCaller implements Caller {
  private final RunningServer server;

  RestCaller(RunningServer server) {
    this.server = server;
  }

  @Override
  public Reply ask(Question question) throws InterruptedException {
    try {
      return reply(server.infer(question.model(), json(question), question.value()));
    } catch (ConnectException e) {
      return Reply.without(Outcome.NOT_TAKEN, e.toString(), Optional.empty());
    } catch (IOException e) {
      return Reply.without(Outcome.LOST, e.toString(), Optional.empty());
    }
  }

  /** Returns what stands before the value. */
  static String json(Question question) {
    String limit =
        question.timeoutMillis() > 0 ? ",\"timeout\":" + question.timeoutMillis() * 1_000 : "";
    String rank = question.priority() > 0 ? ",\"priority\":" + question.priority() : "";
    return """
    {"parameters":{"binary_data_output":true,"report":true%s%s},"inputs":[{"name":"%s",\
    "datatype":"%s","shape":%s,"parameters":{"binary_data_size":%d}}]}\
    """
        .formatted(
            limit,
            rank,
            question.input(),
            question.datatype(),
            question.shape(),
            question.value().length);
  }

  private static Reply reply(HttpResponse<byte[]> answer) {
    byte[] body = answer.body();
    if (answer.statusCode() != 200) {
      Outcome outcome =
          switch (answer.statusCode()) {
            case 429 -> Outcome.BUSY;
            case 503 -> Outcome.UNAVAILABLE;
            case 504 -> Outcome.LATE;
            default -> Outcome.FAILED;
          };
      Optional<Duration> wait =
          answer.headers().firstValue("Retry-After").map(Long::parseLong).map(Duration::ofSeconds);
      String why = answer.statusCode() + " " + new String(body, StandardCharsets.UTF_8);
      return Reply.without(outcome, why, wait);
    }
    int length =
        Integer.parseInt(
            answer.headers().firstValue("Inference-Header-Content-Length").orElse("0"));
    String header = new String(body, 0, length, StandardCharsets.UTF_8);
    return new Reply(
        Outcome.ANSWERED,
        RunningServer.field(header, "model_version"),
        RunningServer.field(header, "ran_on"),
        Arrays.copyOfRange(body, length, body.length),
        RunningServer.number(header, "queue_us"),
        RunningServer.number(header, "compute_us"),
        "",
        Optional.empty());
  }

  @Override
  public void close() {
    // The server's client goes with it.
  }
}
