// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OutputShape;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.reference.Bounds;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.tck.reference.Tensor;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Runs an example on a device and holds its outputs against the oracle's bounds. Thread-safe. */
public final class GraphCheck {
  private final Device device;
  private final Evaluator evaluator = new Evaluator();

  public GraphCheck(Device device) {
    this.device = Objects.requireNonNull(device, "device");
  }

  /**
   * Runs one example. A fault of the device becomes a failed outcome; a graph that the device does
   * not support in full is skipped.
   */
  public Outcome run(Example example) {
    try (DecodedExample decoded = example.decode()) {
      BitSet supported = device.supportedOperations(decoded.model());
      int missing = supported.nextClearBit(0);
      if (missing < example.main().operations().size()) {
        return new Outcome.Skipped(
            "unsupported: " + example.main().operations().get(missing).type());
      }
      return Outcome.of(execute(example, decoded));
    } catch (VectorFormatException e) {
      return new Outcome.Failed("generated wrongly: " + e.getMessage());
    } catch (DeviceException e) {
      return new Outcome.Failed("refused with " + e.status() + ": " + e.getMessage());
    } catch (RuntimeException | Error e) {
      return Outcome.Failed.of(e);
    }
  }

  private Optional<String> execute(Example example, DecodedExample decoded) throws DeviceException {
    try (PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(decoded)) {
      ExecutionResult result = prepared.execute(request.request(), ExecutionConfig.DEFAULT);
      return switch (result) {
        case ExecutionResult.Completed completed -> compare(example, completed.outputs(), request);
        case ExecutionResult.OutputInsufficientSize _ ->
            Optional.of("a buffer is called too small");
        case ExecutionResult.Failed failed ->
            Optional.of("ended with " + failed.status() + ": " + failed.message());
      };
    }
  }

  private Optional<String> compare(Example example, List<OutputShape> shapes, TestRequest request) {
    List<Tensor> values = evaluator.evaluate(example);
    for (int i = 0; i < example.expectedOutputs().size(); i++) {
      int operand = example.expectedOutputs().get(i).operand();
      Tensor expected = values.get(operand);
      if (!shapes.isEmpty() && !Arrays.equals(shapes.get(i).shape().toArray(), expected.shape())) {
        return Optional.of(
            "output %d has shape %s, expected %s"
                .formatted(i, shapes.get(i).shape(), Arrays.toString(expected.shape())));
      }
      Optional<String> wrong = compare(expected, MemorySegment.ofArray(request.output(i)));
      if (wrong.isPresent()) {
        return Optional.of("output " + i + " of " + writer(example, operand) + wrong.get());
      }
    }
    return Optional.empty();
  }

  private static String writer(Example example, int operand) {
    return example.main().operations().stream()
        .filter(operation -> operation.outputs().contains(operand))
        .map(RawOperation::type)
        .findFirst()
        .orElse("nothing");
  }

  private static Optional<String> compare(Tensor expected, MemorySegment actual) {
    OperandCode type = expected.type();
    Elements elements = Elements.of(type);
    Bounds stored = expected.stored();
    int wrong = 0;
    int first = -1;
    for (int i = 0; i < expected.size(); i++) {
      if (!Graphs.holds(stored, i, elements.getDouble(actual, i))) {
        first = first < 0 ? i : first;
        wrong++;
      }
    }
    return wrong == 0
        ? Optional.empty()
        : Optional.of(
            " %s%s: element %d is %s, expected %s in %s..%s; %d of %d wrong"
                .formatted(
                    type,
                    Arrays.toString(expected.shape()),
                    first,
                    elements.getDouble(actual, first),
                    stored.middle()[first],
                    stored.low()[first],
                    stored.high()[first],
                    wrong,
                    expected.size()));
  }
}
