// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import static io.thalamus.tck.domain.Fixture.all;
import static io.thalamus.tck.domain.Fixture.in;
import static io.thalamus.tck.domain.Fixture.out;
import static io.thalamus.tck.domain.Fixture.refused;

import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.vectors.Outcome;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Copies into and out of buffers: AOSP's MemoryDomainCopyTest. */
final class CopyChecks {
  private static final Shape OPEN = Shape.of(1, 0, 0, 8);

  private CopyChecks() {}

  /** By AOSP's name. */
  static Map<String, AllocateChecks.Check> checks() {
    Map<String, AllocateChecks.Check> checks = new LinkedHashMap<>();
    checks.put("CopyFrom_InvalidMemorySize", fixture -> fromSize(fixture, known(fixture)));
    checks.put(
        "CopyFrom_InvalidMemorySize_DynamicShape",
        fixture -> ifOpen(fixture, buffer -> fromSize(fixture, buffer)));
    checks.put("CopyFrom_InvalidDimensions", CopyChecks::fromDimensions);
    checks.put(
        "CopyFrom_InvalidDimensions_DynamicShape",
        fixture -> ifOpen(fixture, buffer -> fromOpenDimensions(fixture, buffer)));
    checks.put("CopyTo_UninitializedMemory", CopyChecks::toUninitialized);
    checks.put("CopyTo_InvalidMemorySize", fixture -> toSize(fixture, known(fixture)));
    checks.put(
        "CopyTo_InvalidMemorySize_DynamicShape",
        fixture -> ifOpen(fixture, buffer -> toSize(fixture, buffer)));
    checks.put("Copy_MemoryKinds", CopyChecks::kinds);
    return checks;
  }

  /** Not AOSP's: out of memory of every mandatory kind, and into those that can be written. */
  private static Outcome kinds(Fixture fixture) throws Exception {
    SharedMemory values = fixture.values();
    for (MemoryKind kind :
        List.of(MemoryKind.ASHMEM, MemoryKind.MMAP_FD, MemoryKind.HARDWARE_BUFFER_BLOB)) {
      DeviceBuffer buffer = known(fixture);
      SharedMemory source = fixture.values(kind);
      buffer.copyFrom(source, Shape.NONE);
      SharedMemory room = fixture.room();
      buffer.copyTo(room);
      if (!source.isReadOnly()) {
        source.segment().fill((byte) 0);
        buffer.copyTo(source);
      }
      if (values.segment().mismatch(room.segment()) >= 0
          || values.segment().mismatch(source.segment()) >= 0) {
        return new Outcome.Failed("copies with " + kind.halName() + " change the values");
      }
    }
    return Outcome.PASSED;
  }

  private static DeviceBuffer known(Fixture fixture) throws Exception {
    PreparedModel model = fixture.prepare();
    return fixture.allocate(in(model, 0), out(model, 0));
  }

  /** A check of a buffer. */
  @FunctionalInterface
  private interface OfBuffer {
    Outcome run(DeviceBuffer buffer) throws Exception;
  }

  /** A buffer of unknown size is one that a device need not have. */
  private static Outcome ifOpen(Fixture fixture, OfBuffer check) throws Exception {
    DomainModel open = fixture.usual().with(OPEN);
    if (!fixture.takes(open)) {
      return new Outcome.Skipped("the device takes no model of unknown dimensions");
    }
    PreparedModel model = fixture.prepare(open);
    return check.run(fixture.allocate(in(model, 0), out(model, 0)));
  }

  private static Outcome from(
      DeviceBuffer buffer, SharedMemory memory, Shape shape, ErrorStatus wanted) throws Exception {
    return refused(
        Set.of(wanted),
        "a copy of " + memory.size() + " bytes as " + shape,
        () -> buffer.copyFrom(memory, shape));
  }

  private static Outcome fromSize(Fixture fixture, DeviceBuffer buffer) throws Exception {
    long right = fixture.usual().bytes();
    Outcome outcome =
        all(
            from(
                buffer, fixture.memory(right / 2), DomainModel.SHAPE, ErrorStatus.INVALID_ARGUMENT),
            from(
                buffer,
                fixture.memory(right * 2),
                DomainModel.SHAPE,
                ErrorStatus.INVALID_ARGUMENT));
    buffer.copyFrom(fixture.values(), DomainModel.SHAPE);
    return outcome;
  }

  private static Outcome fromDimensions(Fixture fixture) throws Exception {
    DeviceBuffer buffer = known(fixture);
    Outcome outcome = Outcome.PASSED;
    for (Shape shape :
        new Shape[] {Shape.of(32, 32, 8), Shape.of(2, 32, 32, 8), Shape.of(0, 32, 32, 8)}) {
      outcome = all(outcome, from(buffer, fixture.values(), shape, ErrorStatus.INVALID_ARGUMENT));
    }
    buffer.copyFrom(fixture.values(), Shape.NONE);
    buffer.copyFrom(fixture.values(), DomainModel.SHAPE);
    return outcome;
  }

  private static Outcome fromOpenDimensions(Fixture fixture, DeviceBuffer buffer) throws Exception {
    Outcome outcome = Outcome.PASSED;
    for (Shape shape :
        new Shape[] {
          Shape.of(32, 32, 8), Shape.of(2, 32, 32, 4), Shape.of(1, 32, 0, 8), Shape.NONE
        }) {
      outcome = all(outcome, from(buffer, fixture.values(), shape, ErrorStatus.INVALID_ARGUMENT));
    }
    buffer.copyFrom(fixture.values(), DomainModel.SHAPE);
    return outcome;
  }

  private static Outcome toUninitialized(Fixture fixture) throws Exception {
    DeviceBuffer buffer = known(fixture);
    Outcome fresh = empty(buffer, fixture.room(), "a buffer that was never written");
    buffer.copyFrom(fixture.values(), Shape.NONE);
    buffer.copyTo(fixture.room());
    Outcome failed =
        from(buffer, fixture.values(), Shape.of(2, 32, 32, 8), ErrorStatus.INVALID_ARGUMENT);
    return all(fresh, failed, empty(buffer, fixture.room(), "a buffer after a failed copy"));
  }

  private static Outcome empty(DeviceBuffer buffer, SharedMemory room, String what)
      throws Exception {
    return refused(Set.of(ErrorStatus.GENERAL_FAILURE), what, () -> buffer.copyTo(room));
  }

  private static Outcome toSize(Fixture fixture, DeviceBuffer buffer) throws Exception {
    long right = fixture.usual().bytes();
    SharedMemory values = fixture.values();
    buffer.copyFrom(values, DomainModel.SHAPE);
    Outcome outcome = Outcome.PASSED;
    for (long size : new long[] {right / 2, right * 2}) {
      outcome =
          all(
              outcome,
              refused(
                  Set.of(ErrorStatus.INVALID_ARGUMENT),
                  "a copy to " + size + " bytes",
                  () -> buffer.copyTo(fixture.memory(size))));
    }
    SharedMemory room = fixture.room();
    buffer.copyTo(room);
    return all(
        outcome,
        values.segment().mismatch(room.segment()) < 0
            ? Outcome.PASSED
            : new Outcome.Failed("what was copied out is not what was copied in"));
  }
}
