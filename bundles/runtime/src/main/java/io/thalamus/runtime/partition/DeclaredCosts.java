// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.ControlFlow;
import java.util.HashMap;
import java.util.Map;

/**
 * Costs that devices declare for the operations of a model, summed in float as AOSP's {@code
 * getPerformance} does, so that ties are the same. Not thread-safe.
 */
final class DeclaredCosts {
  private final Model model;
  private final ExecutionPreference preference;
  private final Map<Key, Float> sums = new HashMap<>();

  private record Key(DeviceInfo info, int subgraph) {}

  DeclaredCosts(Model model, ExecutionPreference preference) {
    this.model = model;
    this.preference = preference;
  }

  float of(DeviceInfo info, Subgraph graph, int operationIndex) {
    Operation operation = graph.operations().get(operationIndex);
    Capabilities capabilities = info.capabilities();
    if (operation.type() == OperationCode.IF) {
      float branches =
          sum(info, ControlFlow.reference(graph, operation, ControlFlow.IF_THEN))
              + sum(info, ControlFlow.reference(graph, operation, ControlFlow.IF_ELSE));
      return (float) (preferred(capabilities.ifPerformance()) + 0.5 * branches);
    }
    if (operation.type() == OperationCode.WHILE) {
      return preferred(capabilities.whilePerformance())
          + sum(info, ControlFlow.reference(graph, operation, ControlFlow.WHILE_CONDITION))
          + sum(info, ControlFlow.reference(graph, operation, ControlFlow.WHILE_BODY));
    }
    if (operation.inputs().isEmpty()) {
      return preferred(PerformanceInfo.UNSUPPORTED);
    }
    return preferred(
        capabilities.of(data(graph, operation), model.relaxComputationFloat32toFloat16()));
  }

  /**
   * The type of the first input, as in AOSP. An extension's operation may begin with a scalar, such
   * as an axis, for whose type devices declare nothing; then that of the first tensor.
   */
  private static OperandType data(Subgraph graph, Operation operation) {
    for (int input : operation.inputs()) {
      OperandType type = graph.operands().get(input).type();
      if (type.isTensor()) {
        return type;
      }
    }
    return graph.operands().get(operation.inputs().getFirst()).type();
  }

  private float sum(DeviceInfo info, int subgraph) {
    Key key = new Key(info, subgraph);
    Float known = sums.get(key);
    if (known != null) {
      return known;
    }
    Subgraph graph = model.referenced().get(subgraph);
    float sum = 0;
    for (int operation = 0; operation < graph.operations().size(); operation++) {
      sum += of(info, graph, operation);
    }
    sums.put(key, sum);
    return sum;
  }

  private float preferred(PerformanceInfo info) {
    return preference == ExecutionPreference.LOW_POWER ? info.powerUsage() : info.execTime();
  }
}
