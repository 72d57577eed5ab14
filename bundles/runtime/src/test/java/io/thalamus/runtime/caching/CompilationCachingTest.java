// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.hal.Device;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** AOSP's TestCompilationCaching: who is registered, and who is asked for what. */
class CompilationCachingTest {
  private static final int MOST = CacheNeeds.MAX_FILES;

  @TempDir Path directory;

  static Stream<Arguments> registrations() {
    List<Arguments> all = new ArrayList<>();
    for (boolean tellsFacts : new boolean[] {true, false}) {
      for (int model : new int[] {0, 1, MOST, MOST + 1}) {
        for (int data : new int[] {0, 1, MOST, MOST + 1}) {
          all.add(Arguments.of(tellsFacts, model, data));
        }
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("registrations")
  void deviceRegistration(boolean tellsFacts, int modelFiles, int dataFiles) {
    DeviceInfo info =
        LimitedDevice.info("test-a", DeviceType.ACCELERATOR, 0.5)
            .cacheNeeds(new CacheNeeds(modelFiles, dataFiles))
            .build();
    Device device =
        new LimitedDevice(info, (graph, operation) -> true) {
          @Override
          public DeviceInfo info() {
            if (!tellsFacts) {
              throw new IllegalStateException("the device is unavailable");
            }
            return super.info();
          }
        };
    try (TestRuntime runtime = TestRuntime.of(device)) {
      boolean isRegistered =
          runtime.networks().devices().stream()
              .anyMatch(one -> one.state() == DeviceDescription.State.AVAILABLE);
      assertEquals(tellsFacts && modelFiles <= MOST && dataFiles <= MOST, isRegistered);
    }
  }

  static Stream<Arguments> flows() {
    List<Arguments> all = new ArrayList<>();
    ErrorStatus[] statuses = {
      null,
      ErrorStatus.GENERAL_FAILURE,
      ErrorStatus.DEVICE_UNAVAILABLE,
      ErrorStatus.INVALID_ARGUMENT
    };
    for (int model : new int[] {0, 1, MOST}) {
      for (int data : new int[] {0, 1, MOST}) {
        for (ErrorStatus status : statuses) {
          all.add(Arguments.of(model, data, status));
        }
      }
    }
    return all.stream();
  }

  private CompilationOptions options() {
    return CompilationOptions.DEFAULT.with(
        new CacheOptions(directory, CacheToken.of(new byte[CacheToken.SIZE]), ""));
  }

  private static void compute(TestRuntime runtime, CompilationOptions options) throws Exception {
    float[] result = new float[4];
    try (Compilation compilation = runtime.networks().compile(Graphs.addThenMul(), options)) {
      assertTrue(Graphs.addThenMulExecution(compilation, result).compute().isSuccess());
    }
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @ParameterizedTest
  @MethodSource("flows")
  void tokenProvidedAndCacheNotPresent(int modelFiles, int dataFiles, ErrorStatus status)
      throws Exception {
    CachingDevice device = CachingDevice.of("a", modelFiles, dataFiles).refuse(status);
    try (TestRuntime runtime = TestRuntime.of(device)) {
      compute(runtime, options());
    }
    boolean caches = modelFiles + dataFiles > 0;
    assertEquals(0, device.restores());
    assertEquals(1, device.prepared().size());
    assertEquals(caches ? 1 : 0, device.preparedWithCache());
  }

  @ParameterizedTest
  @MethodSource("flows")
  void tokenProvidedAndCachePresent(int modelFiles, int dataFiles, ErrorStatus status)
      throws Exception {
    CachingDevice device = CachingDevice.of("a", modelFiles, dataFiles);
    try (TestRuntime runtime = TestRuntime.of(device)) {
      compute(runtime, options());
      device.refuse(status);
      compute(runtime, options());
    }
    boolean caches = modelFiles + dataFiles > 0;
    int prepares = caches && status == null ? 1 : 2;
    assertEquals(caches ? 1 : 0, device.restores());
    assertEquals(prepares, device.prepared().size());
    assertEquals(caches ? prepares : 0, device.preparedWithCache());
  }

  @ParameterizedTest
  @MethodSource("flows")
  void tokenNotProvided(int modelFiles, int dataFiles, ErrorStatus status) throws Exception {
    CachingDevice device = CachingDevice.of("a", modelFiles, dataFiles).refuse(status);
    try (TestRuntime runtime = TestRuntime.of(device)) {
      compute(runtime, CompilationOptions.DEFAULT);
    }
    assertEquals(0, device.restores());
    assertEquals(1, device.prepared().size());
    assertEquals(0, device.preparedWithCache());
  }
}
