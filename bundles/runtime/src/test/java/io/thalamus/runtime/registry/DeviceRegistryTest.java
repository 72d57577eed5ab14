// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.DeviceDescription;
import io.thalamus.hal.Device;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.runtime.fakes.FaultyDevice;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.health.Health;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Order, names, refusals and notices. */
class DeviceRegistryTest {
  private final DeviceRegistry registry = new DeviceRegistry(TestRuntime.IMPATIENT, new Health());

  @AfterEach
  void close() {
    registry.close();
  }

  private static DeviceInfo.Builder info(String name) {
    return LimitedDevice.info(name, DeviceType.ACCELERATOR, 0.5);
  }

  private static Device device(DeviceInfo info) {
    return new LimitedDevice(info, (graph, operation) -> true);
  }

  private void add(Device device) {
    registry.addDevice(device, Map.of());
  }

  private List<String> serving() {
    return registry.devices().stream().map(RegisteredDevice::id).toList();
  }

  @Test
  void theOrderIsThatOfArrivalWithTheReferenceLast() {
    add(device(info("test-a").build()));
    LimitedDevice cpu = LimitedDevice.cpu();
    add(cpu);
    add(device(info("test-b").build()));
    registry.addDevice(device(info("other-c").build()), Map.of("thalamus.device", "short"));
    assertEquals(List.of("a", "b", "short", "cpu"), serving());
    assertEquals(
        List.of("a", "b", "short", "cpu"),
        registry.descriptions().stream().map(DeviceDescription::id).toList());
    registry.removeDevice(cpu);
    assertEquals(List.of("a", "b", "short"), serving());
    registry.removeDevice(cpu);
  }

  private String refusal(DeviceInfo info) {
    add(device(info));
    assertEquals(List.of(), serving());
    DeviceDescription description = registry.descriptions().get(0);
    assertEquals(DeviceDescription.State.REFUSED, description.state());
    return description.reason();
  }

  @ParameterizedTest
  @ValueSource(strings = {"nodash", "-x", "x-", "a-b-c", "", "a- b", "-"})
  void namesHaveExactlyOneDashInside(String name) {
    assertTrue(refusal(info(name).build()).contains("one dash"));
  }

  @Test
  void aVersionIsNotEmpty() {
    DeviceInfo ok = info("test-a").build();
    DeviceInfo empty = DeviceInfo.builder("test-a", "").capabilities(ok.capabilities()).build();
    assertEquals("its version is empty", refusal(empty));
  }

  @ParameterizedTest
  @CsvSource({
    "V1_0, 'MMAP_FD', ashmem",
    "V1_0, 'ASHMEM', mmap_fd",
    "V1_2, '', 'ashmem, mmap_fd'",
    "V1_2, 'ASHMEM MMAP_FD', ''",
    "V1_3, 'ASHMEM MMAP_FD', hardware_buffer_blob",
    "V1_3, 'MMAP_FD HARDWARE_BUFFER_BLOB HARDWARE_BUFFER', ashmem",
    "V1_3, 'ASHMEM MMAP_FD HARDWARE_BUFFER_BLOB', ''"
  })
  void aDeviceReadsTheMemoriesThatItsLevelDemands(
      FeatureLevel level, String kinds, String missing) {
    Set<MemoryKind> read =
        Stream.of(kinds.split(" "))
            .filter(kind -> !kind.isEmpty())
            .map(MemoryKind::valueOf)
            .collect(Collectors.toSet());
    DeviceInfo info = info("test-a").featureLevel(level).memoryKinds(read).build();
    if (missing.isEmpty()) {
      add(device(info));
      assertEquals(List.of("a"), serving());
    } else {
      assertEquals(
          "it does not read memory of the kind %s, which a driver of HAL %s must"
              .formatted(missing, level.name().substring(1).replace('_', '.')),
          refusal(info));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, true",
    "32, 32, true",
    "33, 0, false",
    "0, 33, false",
    "-1, 0, false",
    "0, -1, false"
  })
  void cacheFilesAreAtMost32OfEachKind(int model, int data, boolean isPossible) {
    DeviceInfo info = info("test-a").cacheNeeds(new CacheNeeds(model, data)).build();
    if (isPossible) {
      add(device(info));
      assertEquals(List.of("a"), serving());
    } else {
      assertTrue(refusal(info).contains("cache files"));
    }
  }

  @ParameterizedTest
  @ValueSource(floats = {0, -1, Float.NaN, Float.POSITIVE_INFINITY})
  void costsArePositiveAndFinite(float cost) {
    PerformanceInfo good = PerformanceInfo.of(1);
    PerformanceInfo bad = new PerformanceInfo(1, cost);
    List<Capabilities> impossible =
        List.of(
            new Capabilities(bad, good, Map.of(), good, good),
            new Capabilities(good, bad, Map.of(), good, good),
            new Capabilities(good, good, Map.of(OperandCode.TENSOR_INT32, bad), good, good),
            new Capabilities(good, good, Map.of(), bad, good),
            new Capabilities(good, good, Map.of(), good, bad));
    int number = 0;
    for (Capabilities capabilities : impossible) {
      add(device(info("test-a" + number++).capabilities(capabilities).build()));
    }
    assertEquals(List.of(), serving());
    registry
        .descriptions()
        .forEach(d -> assertTrue(d.reason().contains("positive and finite"), d.reason()));
  }

  @Test
  void subgraphsHaveNoCostAndExtensionsHaveNames() {
    PerformanceInfo good = PerformanceInfo.of(1);
    Capabilities subgraph =
        new Capabilities(good, good, Map.of(OperandCode.SUBGRAPH, good), good, good);
    assertTrue(refusal(info("test-a").capabilities(subgraph).build()).contains("SUBGRAPH"));
    add(device(info("test-b").extensions(Set.of("NoDots")).build()));
    assertTrue(registry.descriptions().get(1).reason().contains("NoDots"));
  }

  @Test
  void aDeviceThatHasNoFactsIsIgnored() {
    Device mute =
        new FaultyDevice(LimitedDevice.cpu()) {
          @Override
          public DeviceInfo info() {
            throw new IllegalStateException("who am I?");
          }
        };
    add(mute);
    assertEquals(List.of(), serving());
    assertEquals(List.of(), registry.descriptions());
    registry.removeDevice(mute);
  }

  @Test
  void theSecondOfANameWaitsUntilTheFirstIsGone() {
    Device first = device(info("test-a").build());
    Device second = device(info("test-a").build());
    add(first);
    add(second);
    assertEquals(List.of("a"), serving());
    assertEquals(DeviceDescription.State.REFUSED, registry.descriptions().get(1).state());
    List<String> events = new ArrayList<>();
    registry.addListener(
        new DeviceListener() {
          @Override
          public void arrived(RegisteredDevice device) {
            events.add("+" + device);
          }

          @Override
          public void departing(RegisteredDevice device) {
            events.add("-" + device);
          }
        });
    registry.removeDevice(first);
    assertEquals(List.of("-a", "+a"), events);
    assertEquals(
        List.of(DeviceDescription.State.AVAILABLE),
        registry.descriptions().stream().map(DeviceDescription::state).toList());
  }
}
