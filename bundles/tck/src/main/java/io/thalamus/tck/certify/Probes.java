// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFormatException;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import java.util.Set;

/** Uses of an example that several groups share. */
final class Probes {
  private Probes() {}

  /** Something that is done with a prepared example. */
  @FunctionalInterface
  interface Use {
    Optional<String> run(PreparedModel prepared, DecodedExample decoded) throws Exception;
  }

  /** Prepares an example, uses it and closes it. */
  static Optional<String> with(Device device, Example example, Use use) throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      return use.run(prepared, decoded);
    }
  }

  /** A copy of what stands in a memory. */
  static byte[] bytes(SharedMemory memory) {
    return memory.segment().toArray(ValueLayout.JAVA_BYTE);
  }

  /** All outputs of one run, with new memory. */
  static byte[] outputs(PreparedModel prepared, DecodedExample decoded) {
    try (TestRequest request = TestRequest.of(decoded)) {
      ExecutionResult result = prepared.execute(request.request(), ExecutionConfig.DEFAULT);
      if (!(result instanceof ExecutionResult.Completed)) {
        throw new IllegalStateException(decoded.example().name() + " ended with " + result);
      }
      return request.allOutputs();
    }
  }

  /** All outputs of an example on a device. */
  static byte[] outputs(Device device, Example example)
      throws DeviceException, VectorFormatException {
    try (DecodedExample decoded = example.decode();
        PreparedModel prepared = device.prepare(decoded.model(), PrepareConfig.DEFAULT)) {
      return outputs(prepared, decoded);
    }
  }

  /** A fault unless a result is a failure with one of these statuses. */
  static Optional<String> failed(ExecutionResult result, ErrorStatus... wanted) {
    Set<ErrorStatus> allowed = Set.of(wanted);
    return result instanceof ExecutionResult.Failed failure && allowed.contains(failure.status())
        ? Optional.empty()
        : Optional.of("it ended with " + result + ", not with " + allowed);
  }

  /** A call that is to be refused. */
  @FunctionalInterface
  interface Refusable {
    void run() throws DeviceException;
  }

  /** A fault unless a call is refused with one of these statuses. */
  static Optional<String> refused(Refusable call, ErrorStatus... wanted) {
    Set<ErrorStatus> allowed = Set.of(wanted);
    try {
      call.run();
      return Optional.of("it was not refused");
    } catch (DeviceException e) {
      return allowed.contains(e.status())
          ? Optional.empty()
          : Optional.of("it was refused with " + e.status() + ", not with " + allowed);
    }
  }
}
