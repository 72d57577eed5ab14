// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.domain.BufferedDevice;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/** Checks of bursts whose packets name buffers of the device by their tokens. Immutable. */
record TokenChecks(BurstSuite suite) {
  private static final long CONTROL_BYTES = 4096;

  List<Check> checks() {
    if (!suite.device().info().memoryDomain()) {
      return List.of();
    }
    List<Check> checks = new ArrayList<>();
    for (Example example : suite.some()) {
      checks.add(new Check("in buffers " + example.name(), () -> inBuffers(example)));
    }
    checks.add(new Check("a buffer of another client", this::ofAnother));
    return checks;
  }

  /** All arguments that the device has a buffer for stand in one. */
  private void inBuffers(Example example) throws Exception {
    BufferedDevice buffered = new BufferedDevice(suite.decorated(BurstSettings.DEFAULT));
    Expect.equal(
        Probes.outputs(suite.device(), example),
        Probes.outputs(buffered, example),
        "the results differ from those in shared memory");
    if (buffered.buffers() == 0) {
      throw Expect.skip("the device has no buffer for an argument of the example");
    }
  }

  /** A token that the client who sends it did not allocate is unknown, even if a buffer has it. */
  private void ofAnother() throws Exception {
    for (Example example : suite.some()) {
      try (DecodedExample decoded = example.decode();
          PreparedModel model = suite.device().prepare(decoded.model(), PrepareConfig.DEFAULT);
          DeviceBuffer buffer = allocate(model)) {
        if (buffer != null) {
          Expect.at(example.name(), () -> ofAnother(decoded, model, buffer));
          return;
        }
      }
    }
    throw Expect.skip("the device has no buffer for an input of the examples");
  }

  private DeviceBuffer allocate(PreparedModel model) throws DeviceException {
    try {
      BufferRole role = new BufferRole(model, BufferRole.Direction.INPUT, 0, 1);
      return suite.device().allocate(new BufferDesc(Shape.NONE), List.of(role));
    } catch (DeviceException e) {
      if (e.status() == ErrorStatus.GENERAL_FAILURE) {
        return null;
      }
      throw e;
    }
  }

  private void ofAnother(DecodedExample decoded, PreparedModel model, DeviceBuffer buffer)
      throws Exception {
    try (TestRequest plain = TestRequest.of(decoded)) {
      Request shared = plain.request();
      fill(buffer, decoded.model().main().input(0), (Location) shared.inputs().getFirst(), plain);
      List<Request.Argument> inputs = new ArrayList<>(shared.inputs());
      inputs.set(0, new Location(2, 0, 0, Shape.NONE));
      List<MemoryPool> pools = new ArrayList<>(shared.pools());
      pools.add(new MemoryPool.Device(buffer));
      Request request = new Request(inputs, shared.outputs(), pools);
      ExecutionResult synchronous = model.execute(request, ExecutionConfig.DEFAULT);
      Expect.completed("synchronously", synchronous);
      List<Datum> packet =
          RequestPacket.of(request, List.of(0, 1, buffer.token()), false).stream()
              .map(datum -> isToken(datum, buffer) ? Datum.of(Datum.TOKEN, buffer.token()) : datum)
              .toList();
      expect(model, plain, packet, token -> token == buffer.token() ? buffer : null, true);
      expect(model, plain, packet, _ -> null, false);
    }
  }

  private static boolean isToken(Datum datum, DeviceBuffer buffer) {
    return datum.tag() == Datum.POOL && datum.word(0) == buffer.token();
  }

  private static void fill(DeviceBuffer buffer, Operand operand, Location place, TestRequest plain)
      throws DeviceException {
    try (SharedMemory value = SharedMemory.allocate(MemoryKind.ASHMEM, operand.byteSize())) {
      value
          .segment()
          .copyFrom(plain.inputs().segment().asSlice(place.offset(), operand.byteSize()));
      buffer.copyFrom(value, Shape.NONE);
    }
  }

  private void expect(
      PreparedModel model,
      TestRequest plain,
      List<Datum> packet,
      IntFunction<DeviceBuffer> buffers,
      boolean isOwn)
      throws Exception {
    try (SharedMemory control = SharedMemory.allocate(MemoryKind.ASHMEM, CONTROL_BYTES);
        RawBurst burst =
            suite.open(
                model,
                new BurstConfig.Version2(control, buffers),
                BurstSettings.DEFAULT_QUEUE_LENGTH)) {
      burst.memories().put(0, plain.inputs());
      burst.memories().put(1, plain.outputs());
      Expect.status(
          isOwn ? "a buffer of the client" : "a buffer of another client",
          burst.exchange(packet).status(),
          isOwn ? ErrorStatus.NONE : ErrorStatus.INVALID_ARGUMENT);
    }
  }
}
