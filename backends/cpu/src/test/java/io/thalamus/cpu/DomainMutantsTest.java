// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.domain.DomainSuite;
import io.thalamus.vectors.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** The kit's checks of memory domains find devices that break one rule each. */
class DomainMutantsTest {
  /** The tests of AOSP's MemoryDomainTest for vendors. */
  private static final Set<String> OF_AOSP =
      Set.of(
          "ConflictDimensionsBetweenRoleAndDesc",
          "ConflictDimensionsBetweenRoles",
          "ConflictOperandType",
          "ConflictRankBetweenRoleAndDesc",
          "ConflictRankBetweenRoles",
          "ConflictRankWithScalarRole",
          "ConflictScale",
          "ConflictZeroPoint",
          "CopyFrom_InvalidDimensions",
          "CopyFrom_InvalidDimensions_DynamicShape",
          "CopyFrom_InvalidMemorySize",
          "CopyFrom_InvalidMemorySize_DynamicShape",
          "CopyTo_InvalidMemorySize",
          "CopyTo_InvalidMemorySize_DynamicShape",
          "CopyTo_UninitializedMemory",
          "EmptyRole",
          "InvalidDimensions",
          "InvalidFrequency",
          "InvalidIOIndex",
          "InvalidIOType",
          "InvalidModelIndex",
          "InvalidPreparedModel",
          "InvalidToken",
          "NullptrPreparedModel",
          "SameRequestMultipleRoles",
          "SameRoleSpecifiedTwice",
          "UninitializedMemory");

  /** The reference, as far as a subclass does not damage it. */
  private static class Mutant extends DelegatingDevice {
    Mutant() {
      super(new CpuDevice("1.0.0"));
    }

    @Override
    public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
      return new MutantModel(this, super.prepare(model, config));
    }

    @Override
    public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
      return new MutantBuffer(this, super.allocate(desc, roles));
    }

    ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
      List<MemoryPool> pools = new ArrayList<>();
      for (MemoryPool pool : request.pools()) {
        pools.add(
            pool instanceof MemoryPool.Device own && own.buffer() instanceof MutantBuffer mutant
                ? new MemoryPool.Device(mutant.within)
                : pool);
      }
      return within.execute(new Request(request.inputs(), request.outputs(), pools), config);
    }

    void copyTo(DeviceBuffer within, SharedMemory memory) throws DeviceException {
      within.copyTo(memory);
    }

    void copyFrom(DeviceBuffer within, SharedMemory memory, Shape shape) throws DeviceException {
      within.copyFrom(memory, shape);
    }
  }

  private static final class MutantModel extends DelegatingPreparedModel {
    private final Mutant device;

    MutantModel(Mutant device, PreparedModel within) {
      super(device, within);
      this.device = device;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return device.execute(delegate(), request, config);
    }
  }

  private record MutantBuffer(Mutant device, DeviceBuffer within) implements DeviceBuffer {
    @Override
    public int token() {
      return within.token();
    }

    @Override
    public void copyTo(SharedMemory destination) throws DeviceException {
      device.copyTo(within, destination);
    }

    @Override
    public void copyFrom(SharedMemory source, Shape shape) throws DeviceException {
      device.copyFrom(within, source, shape);
    }

    @Override
    public void close() {
      within.close();
    }
  }

  /** The names of the checks by synchronous calls that a device fails, without types. */
  private static Set<String> failures(Device device) throws Exception {
    Set<String> failed = new TreeSet<>();
    for (Check check : new DomainSuite(device).checks()) {
      if (!check.name().endsWith("FENCED") && check.run() instanceof Outcome.Failed) {
        failed.add(check.name().substring(0, check.name().indexOf(' ')));
      }
    }
    return failed;
  }

  private static Mutant withRoles(UnaryOperator<List<BufferRole>> change) {
    return new Mutant() {
      @Override
      public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
        return super.allocate(desc, change.apply(roles));
      }
    };
  }

  @Test
  void allTestsOfAospAndOneMoreAreThere() throws Exception {
    Set<String> expected = new TreeSet<>(OF_AOSP);
    expected.add("Copy_MemoryKinds");
    Set<String> checked = new TreeSet<>();
    try (CpuDevice cpu = new CpuDevice("1.0.0")) {
      for (Check check : new DomainSuite(cpu).checks()) {
        checked.add(check.name().substring(0, check.name().indexOf(' ')));
      }
    }
    assertEquals(expected, checked);
  }

  @Test
  void aDecoratedDeviceThatUnwrapsPasses() throws Exception {
    assertEquals(Set.of(), failures(new Mutant()));
  }

  @Test
  void rolesGivenTwiceAreMissed() throws Exception {
    Mutant lax =
        withRoles(
            roles -> {
              List<BufferRole> once = new ArrayList<>();
              for (BufferRole role : roles) {
                if (once.stream()
                    .noneMatch(
                        other ->
                            other.model() == role.model()
                                && other.direction() == role.direction()
                                && other.index() == role.index())) {
                  once.add(role);
                }
              }
              return once;
            });
    assertEquals(Set.of("SameRoleSpecifiedTwice"), failures(lax));
  }

  @Test
  void frequenciesAreIgnored() throws Exception {
    Mutant lax =
        withRoles(
            roles ->
                roles.stream()
                    .map(role -> new BufferRole(role.model(), role.direction(), role.index(), 1))
                    .toList());
    assertEquals(Set.of("InvalidFrequency"), failures(lax));
  }

  @Test
  void onlyTheFirstRoleIsRead() throws Exception {
    Mutant lax = withRoles(roles -> roles.stream().limit(1).toList());
    assertTrue(
        failures(lax)
            .containsAll(
                Set.of(
                    "ConflictOperandType",
                    "ConflictScale",
                    "ConflictZeroPoint",
                    "ConflictRankBetweenRoles",
                    "ConflictDimensionsBetweenRoles",
                    "InvalidPreparedModel",
                    "SameRoleSpecifiedTwice",
                    "UninitializedMemory")),
        "of a device that reads the first role only");
  }

  @Test
  void descriptorsAreIgnored() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles)
              throws DeviceException {
            return super.allocate(new BufferDesc(Shape.NONE), roles);
          }
        };
    assertTrue(
        failures(lax)
            .containsAll(
                Set.of(
                    "ConflictRankBetweenRoleAndDesc",
                    "ConflictDimensionsBetweenRoleAndDesc",
                    "ConflictRankWithScalarRole")));
  }

  @Test
  void directionsAreIgnored() throws Exception {
    Mutant lax =
        withRoles(
            roles -> {
              List<BufferRole> both = new ArrayList<>(roles);
              if (roles.size() == 1 && roles.getFirst().index() == 0) {
                BufferRole role = roles.getFirst();
                Direction other =
                    role.direction() == Direction.INPUT ? Direction.OUTPUT : Direction.INPUT;
                both.add(new BufferRole(role.model(), other, 0, role.frequency()));
              }
              return both;
            });
    assertEquals(Set.of("InvalidIOType"), failures(lax));
  }

  @Test
  void emptyBuffersReadAsZeros() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          void copyTo(DeviceBuffer within, SharedMemory memory) throws DeviceException {
            try {
              super.copyTo(within, memory);
            } catch (DeviceException e) {
              if (e.status() != ErrorStatus.GENERAL_FAILURE) {
                throw e;
              }
            }
          }
        };
    assertEquals(Set.of("CopyTo_UninitializedMemory"), failures(lax));
  }

  @Test
  void dimensionsOfCopiesAreIgnored() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          void copyFrom(DeviceBuffer within, SharedMemory memory, Shape shape)
              throws DeviceException {
            super.copyFrom(within, memory, Shape.NONE);
          }
        };
    // Buffers of unknown dimensions cannot be written at all without them.
    assertEquals(
        Set.of(
            "CopyFrom_InvalidDimensions",
            "CopyTo_UninitializedMemory",
            "CopyFrom_InvalidMemorySize_DynamicShape",
            "CopyFrom_InvalidDimensions_DynamicShape",
            "CopyTo_InvalidMemorySize_DynamicShape"),
        failures(lax));
  }

  /** A driver that believes whatever size is copied into a buffer of unknown dimensions. */
  @Test
  void sizesOfCopiesAreIgnored() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          void copyFrom(DeviceBuffer within, SharedMemory memory, Shape shape)
              throws DeviceException {
            try {
              super.copyFrom(within, memory, shape);
            } catch (DeviceException e) {
              if (!shape.equals(Shape.of(1, 32, 32, 8))) {
                throw e;
              }
            }
          }
        };
    assertEquals(
        Set.of("CopyFrom_InvalidMemorySize", "CopyFrom_InvalidMemorySize_DynamicShape"),
        failures(lax));
  }

  @Test
  void copiesOutOfFilesAreEmpty() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          void copyFrom(DeviceBuffer within, SharedMemory memory, Shape shape)
              throws DeviceException {
            if (memory.kind() != MemoryKind.MMAP_FD) {
              super.copyFrom(within, memory, shape);
              return;
            }
            try (SharedMemory zeros = SharedMemory.allocate(MemoryKind.ASHMEM, memory.size())) {
              super.copyFrom(within, zeros, shape);
            }
          }
        };
    assertEquals(Set.of("Copy_MemoryKinds"), failures(lax));
  }

  @Test
  void foreignBuffersAreTakenForOwn() throws Exception {
    Mutant lax =
        new Mutant() {
          @Override
          ExecutionResult execute(PreparedModel within, Request request, ExecutionConfig config) {
            for (MemoryPool pool : request.pools()) {
              if (pool instanceof MemoryPool.Device own
                  && !(own.buffer() instanceof MutantBuffer)) {
                return new ExecutionResult.Completed(List.of(), Timing.NONE);
              }
            }
            return super.execute(within, request, config);
          }
        };
    assertEquals(Set.of("InvalidToken"), failures(lax));
  }

  @Test
  void aDeviceThatClaimsNothingAllocates() throws Exception {
    Mutant shy =
        new Mutant() {
          @Override
          public DeviceInfo info() {
            DeviceInfo info = super.info();
            return DeviceInfo.builder(info.name(), info.version())
                .capabilities(info.capabilities())
                .extensions(info.extensions())
                .build();
          }
        };
    assertEquals(Set.of("a"), failures(shy));
  }
}
