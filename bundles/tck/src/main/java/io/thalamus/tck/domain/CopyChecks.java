// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.Expect;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Copies into and out of buffers: AOSP's MemoryDomainCopyTest. */
final class CopyChecks extends Fixture {
  private static final Shape OPEN = Shape.of(1, 0, 0, 8);
  private static final String DYNAMIC = "_DynamicShape";

  CopyChecks(Device device, DomainModel usual, Mode mode) {
    super(device, usual, mode);
  }

  /** By AOSP's name. */
  static Map<String, Fixture.Body<CopyChecks>> checks() {
    Map<String, Fixture.Body<CopyChecks>> checks = new LinkedHashMap<>();
    checks.put("CopyFrom_InvalidMemorySize", own -> own.fromSize(own.known()));
    checks.put("CopyFrom_InvalidMemorySize" + DYNAMIC, own -> own.fromSize(own.open()));
    checks.put(
        "CopyFrom_InvalidDimensions",
        own -> {
          DeviceBuffer buffer = own.known();
          own.fromDimensions(buffer, Shape.of(2, 32, 32, 8), Shape.of(0, 32, 32, 8));
          buffer.copyFrom(own.values(), Shape.NONE);
        });
    checks.put(
        "CopyFrom_InvalidDimensions" + DYNAMIC,
        own ->
            own.fromDimensions(
                own.open(), Shape.of(2, 32, 32, 4), Shape.of(1, 32, 0, 8), Shape.NONE));
    checks.put("CopyTo_UninitializedMemory", CopyChecks::toUninitialized);
    checks.put("CopyTo_InvalidMemorySize", own -> own.toSize(own.known()));
    checks.put("CopyTo_InvalidMemorySize" + DYNAMIC, own -> own.toSize(own.open()));
    checks.put("Copy_MemoryKinds", CopyChecks::kinds);
    return checks;
  }

  /** Not AOSP's: out of memory of every mandatory kind, and into those that can be written. */
  private void kinds() throws Exception {
    SharedMemory values = values();
    for (MemoryKind kind :
        List.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB)) {
      DeviceBuffer buffer = known();
      SharedMemory source = values(kind);
      buffer.copyFrom(source, Shape.NONE);
      SharedMemory room = room();
      buffer.copyTo(room);
      if (!source.isReadOnly()) {
        source.segment().fill((byte) 0);
        buffer.copyTo(source);
      }
      String fault = "copies with " + kind.halName() + " change the values";
      expectEqual(values, room, fault);
      expectEqual(values, source, fault);
    }
  }

  private DeviceBuffer known() throws Exception {
    PreparedModel model = prepare();
    return allocate(in(model, 0), out(model, 0));
  }

  /** A buffer of unknown size, which a device need not have. */
  private DeviceBuffer open() throws Exception {
    DomainModel open = usual().with(OPEN);
    skipUnlessTaken(open, "model of unknown dimensions");
    PreparedModel model = prepare(open);
    return allocate(in(model, 0), out(model, 0));
  }

  private static void invalid(DeviceBuffer buffer, SharedMemory memory, Shape shape)
      throws Exception {
    Expect.refused(
        "a copy of " + memory.size() + " bytes as " + shape,
        () -> buffer.copyFrom(memory, shape),
        ErrorStatus.INVALID_ARGUMENT);
  }

  private void fromSize(DeviceBuffer buffer) throws Exception {
    long right = usual().bytes();
    invalid(buffer, memory(right / 2), DomainModel.SHAPE);
    invalid(buffer, memory(right * 2), DomainModel.SHAPE);
    buffer.copyFrom(values(), DomainModel.SHAPE);
  }

  private void fromDimensions(DeviceBuffer buffer, Shape... wrong) throws Exception {
    invalid(buffer, values(), Shape.of(32, 32, 8));
    for (Shape shape : wrong) {
      invalid(buffer, values(), shape);
    }
    buffer.copyFrom(values(), DomainModel.SHAPE);
  }

  private void toUninitialized() throws Exception {
    DeviceBuffer buffer = known();
    empty(buffer, "a buffer that was never written");
    buffer.copyFrom(values(), Shape.NONE);
    buffer.copyTo(room());
    invalid(buffer, values(), Shape.of(2, 32, 32, 8));
    empty(buffer, "a buffer after a failed copy");
  }

  private void empty(DeviceBuffer buffer, String what) throws Exception {
    Expect.refused(what, () -> buffer.copyTo(room()), ErrorStatus.GENERAL_FAILURE);
  }

  private void toSize(DeviceBuffer buffer) throws Exception {
    long right = usual().bytes();
    SharedMemory values = values();
    buffer.copyFrom(values, DomainModel.SHAPE);
    for (long size : new long[] {right / 2, right * 2}) {
      Expect.refused(
          "a copy to " + size + " bytes",
          () -> buffer.copyTo(memory(size)),
          ErrorStatus.INVALID_ARGUMENT);
    }
    SharedMemory room = room();
    buffer.copyTo(room);
    expectEqual(values, room, "what was copied out is not what was copied in");
  }
}
