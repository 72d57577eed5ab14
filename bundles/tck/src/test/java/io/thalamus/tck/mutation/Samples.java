// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.vectors.Example;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperand.Dims;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.List;
import java.util.Optional;

/** Small examples, written by hand. */
final class Samples {
  private Samples() {}

  /** relu(a + b): operands 0 a, 1 b (constant), 2 activation, 3 sum (temporary), 4 result. */
  static Example addThenRelu() {
    RawSubgraph graph =
        new RawSubgraph(
            List.of(
                RawOperand.of("a", "TENSOR_FLOAT32", Dims.of(2), "SUBGRAPH_INPUT", 1),
                RawOperand.of("b", "TENSOR_FLOAT32", Dims.of(2), "CONSTANT_COPY", 1)
                    .withValues(Optional.of(Values.of(1, -5))),
                RawOperand.of("activation", "INT32", Dims.NONE, "CONSTANT_COPY", 1)
                    .withValues(Optional.of(Values.of(0))),
                RawOperand.of("sum", "TENSOR_FLOAT32", Dims.of(2), "TEMPORARY_VARIABLE", 1),
                RawOperand.of("result", "TENSOR_FLOAT32", Dims.of(2), "SUBGRAPH_OUTPUT", 0)),
            List.of(
                new RawOperation("ADD", List.of(0, 1, 2), List.of(3)),
                new RawOperation("RELU", List.of(3), List.of(4))),
            List.of(0),
            List.of(4));
    return Example.of(
        "add_then_relu",
        graph,
        List.of(new Example.Input(0, Values.of(1, 2))),
        List.of(new Example.ExpectedOutput(4, false, Values.of(2, 0))));
  }
}
