// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.coupling;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.RunOptions.Mode;
import io.thalamus.vectors.VectorFile;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorRunner;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Runs examples of one operation over TENSOR_QUANT8_ASYMM beside their signed variants: the device
 * must take both or neither, both must be right by all its ways to execute, and, where it says that
 * its quantized results are exact, the two must be equal but for the offset. Immutable; runs in the
 * calling thread.
 *
 * @param device under test
 */
public record CouplingSuite(Device device) {
  public CouplingSuite {
    Objects.requireNonNull(device, "device");
  }

  /**
   * Runs the examples of a file, or of all files below a folder.
   *
   * @throws IOException where a file cannot be read
   * @throws VectorFormatException where one is damaged
   */
  public CouplingReport run(Path root) throws IOException, VectorFormatException {
    List<Example> examples = new ArrayList<>();
    for (Path file : VectorSuite.of(root).files()) {
      examples.addAll(VectorFile.read(file).examples());
    }
    return run(examples);
  }

  /** Runs these examples. */
  public CouplingReport run(List<Example> examples) {
    List<CouplingReport.Pair> pairs = new ArrayList<>();
    for (Example example : examples) {
      Optional<Example> variant = SignedVariant.of(example);
      if (variant.isPresent() && !example.expectFailure()) {
        String operation = example.main().operations().getFirst().type();
        pairs.add(
            new CouplingReport.Pair(operation, example.name(), outcome(example, variant.get())));
      }
    }
    return new CouplingReport(pairs);
  }

  private Outcome outcome(Example example, Example variant) {
    try (DecodedExample unsigned = example.decode();
        DecodedExample signed = variant.decode()) {
      boolean isSupported = isSupported(unsigned);
      if (isSupported != isSupported(signed)) {
        return new Outcome.Failed(
            "only " + (isSupported ? "the unsigned" : "the signed") + " type is supported");
      }
      return isSupported
          ? Outcome.of(difference(unsigned, signed))
          : new Outcome.Skipped("neither type is supported");
    } catch (VectorFormatException | DeviceException | RuntimeException | Error e) {
      return new Outcome.Failed("cannot be run: " + Outcome.Failed.of(e).reason());
    }
  }

  private boolean isSupported(DecodedExample example) throws DeviceException {
    return device.supportedOperations(example.model()).get(0);
  }

  private Optional<String> difference(DecodedExample unsigned, DecodedExample signed)
      throws DeviceException {
    for (Mode mode : List.of(Mode.SYNC, Mode.FENCED)) {
      for (DecodedExample example : List.of(unsigned, signed)) {
        VectorRunner runner =
            new VectorRunner(new DeviceTarget(device), RunOptions.DEFAULT.with(mode));
        if (runner.run(example) instanceof Outcome.Failed failed) {
          return Optional.of(
              example.example().name() + " in mode " + mode + ": " + failed.reason());
        }
      }
    }
    return device.info().exactQuantized()
        ? inequality(unsigned, outputs(unsigned), outputs(signed))
        : Optional.empty();
  }

  private List<byte[]> outputs(DecodedExample example) throws DeviceException {
    try (PreparedModel prepared = device.prepare(example.model(), PrepareConfig.DEFAULT);
        TestRequest request = TestRequest.of(example)) {
      ExecutionResult result = prepared.execute(request.request(), ExecutionConfig.DEFAULT);
      if (result.status() != ErrorStatus.NONE) {
        throw new DeviceException(result.status(), "the second execution failed");
      }
      return request.results();
    }
  }

  private static Optional<String> inequality(
      DecodedExample example, List<byte[]> unsigned, List<byte[]> signed) {
    for (int output = 0; output < unsigned.size(); output++) {
      DecodedExample.Expected expected = example.outputs().get(output);
      int offset =
          expected.operand().type() == OperandCode.TENSOR_QUANT8_ASYMM ? SignedVariant.OFFSET : 0;
      for (int i = 0; i < expected.byteSize(); i++) {
        byte wanted = (byte) (unsigned.get(output)[i] - offset);
        if (wanted != signed.get(output)[i]) {
          return Optional.of(
              "output %d byte %d is %d, the unsigned type's less %d is %d"
                  .formatted(output, i, signed.get(output)[i], offset, wanted));
        }
      }
    }
    return Optional.empty();
  }
}
