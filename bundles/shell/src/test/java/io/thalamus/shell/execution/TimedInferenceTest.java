// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.console.CommandException;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.Timing;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Against a compilation that computes nothing. */
class TimedInferenceTest {
  private int executions;

  private TimedInference inference(int interruptedAt) {
    SubgraphBuilder graph = new SubgraphBuilder();
    graph.input("a", OperandCode.TENSOR_FLOAT32, Shape.of(1), Quantization.NONE);
    graph.output("b", OperandCode.TENSOR_FLOAT32, Shape.of(1), Quantization.NONE);
    Model model = Model.of(graph.build());
    Execution execution = proxy(Execution.class, (proxy, _, _) -> proxy);
    Compilation compilation =
        proxy(
            Compilation.class,
            (_, method, _) -> method.getName().equals("model") ? model : execution);
    ExecutionReport done =
        new ExecutionReport(
            ResultCode.NO_ERROR,
            "",
            List.of(new OutputShape(Shape.of(1), true)),
            Timing.NONE,
            List.of());
    return new TimedInference(
        compilation,
        List.of(Tensor.floats(new float[1], 1)),
        _ -> {
          if (++executions == interruptedAt) {
            Thread.currentThread().interrupt();
          }
          return done;
        });
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  @Test
  void eachTimeIsKept() {
    assertEquals(5_000, inference(0).run(5_000).nanos().length);
    assertEquals(5_000, executions);
  }

  /** The number of times is one of which no memory holds as many. */
  @Test
  void anInterruptEndsIt() {
    TimedInference inference = inference(3);
    assertThrows(CommandException.class, () -> inference.run(Integer.MAX_VALUE));
    assertEquals(3, executions);
    assertTrue(Thread.interrupted());
  }
}
