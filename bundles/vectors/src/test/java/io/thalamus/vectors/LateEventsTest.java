// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.model.Timing;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class LateEventsTest {
  private static final ExecutionReport DONE =
      new ExecutionReport(ResultCode.NO_ERROR, "", List.of(), Timing.NONE, List.of());

  /** Returns an execution that ends when its one event does, changed by this. */
  private static Execution execution(UnaryOperator<CompletableFuture<ExecutionReport>> end) {
    return (Execution)
        Proxy.newProxyInstance(
            Execution.class.getClassLoader(),
            new Class<?>[] {Execution.class},
            (proxy, method, arguments) -> {
              @SuppressWarnings("unchecked") // The one method that is called.
              List<CompletableFuture<ExecutionReport>> events =
                  (List<CompletableFuture<ExecutionReport>>) arguments[0];
              return end.apply(events.getFirst());
            });
  }

  private static long early(UnaryOperator<CompletableFuture<ExecutionReport>> end)
      throws Exception {
    LateEvents events = new LateEvents(7);
    int early = 0;
    for (int i = 0; i < 40; i++) {
      ResultCode code = events.start(execution(end)).get(60, TimeUnit.SECONDS).code();
      early += code == ResultCode.BAD_STATE ? 1 : 0;
    }
    return early;
  }

  @Test
  void executionsThatWaitAreRight() throws Exception {
    assertEquals(0, early(event -> event.thenApply(nothing -> DONE)));
  }

  /** Those whose events complete while they start have nothing to wait for. */
  @Test
  void executionsThatDoNotWaitAreFound() throws Exception {
    assertTrue(early(event -> CompletableFuture.completedFuture(DONE)) > 20);
  }
}
