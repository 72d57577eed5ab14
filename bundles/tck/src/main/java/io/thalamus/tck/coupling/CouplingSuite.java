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
import io.thalamus.tck.request.TestRequest;
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
 * @param device who is tested
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
    CouplingReport report = new CouplingReport();
    for (Path file : VectorSuite.of(root).files()) {
      VectorFile.read(file).examples().forEach(example -> run(example, report));
    }
    return report;
  }

  /** Runs these examples. */
  public CouplingReport run(List<Example> examples) {
    CouplingReport report = new CouplingReport();
    examples.forEach(example -> run(example, report));
    return report;
  }

  private void run(Example example, CouplingReport report) {
    Optional<Example> variant = SignedVariant.of(example);
    if (variant.isEmpty() || example.expectFailure()) {
      return;
    }
    String operation = example.main().operations().getFirst().type();
    try (DecodedExample unsigned = example.decode();
        DecodedExample signed = variant.get().decode()) {
      boolean isSupported = isSupported(unsigned);
      Optional<String> fault =
          isSupported == isSupported(signed)
              ? isSupported ? difference(unsigned, signed) : Optional.empty()
              : Optional.of(
                  "only " + (isSupported ? "the unsigned" : "the signed") + " type is supported");
      if (fault.isPresent()) {
        report.addFailure(example.name(), fault.get());
      } else if (isSupported) {
        report.addCoupled(operation, example.name());
      } else {
        report.addUnsupported(operation);
      }
    } catch (VectorFormatException | DeviceException | RuntimeException | Error e) {
      report.addFailure(example.name(), "cannot be run: " + Outcome.Failed.of(e).reason());
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
      List<byte[]> outputs = new ArrayList<>();
      for (int i = 0; i < example.outputs().size(); i++) {
        outputs.add(request.output(i));
      }
      return outputs;
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
              "output "
                  + output
                  + " byte "
                  + i
                  + " is "
                  + signed.get(output)[i]
                  + ", the"
                  + " unsigned type's less "
                  + offset
                  + " is "
                  + wanted);
        }
      }
    }
    return Optional.empty();
  }
}
