// SPDX-License-Identifier: Apache-2.0
package io.thalamus.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.felix.hc.api.Result;
import org.apache.felix.hc.api.Result.Status;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the checks say of a state. */
class ChecksTest {
  private static final PerformanceInfo ONE = PerformanceInfo.of(1);

  @TempDir Path folder;

  private static <T> T answering(Class<T> type, Map<String, Object> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, given) -> answers.get(method.getName())));
  }

  private static InferenceServer server(boolean isReady, IndexEntry... index) {
    return answering(
        InferenceServer.class, Map.of("isReady", isReady, "index", Arrays.asList(index)));
  }

  private static IndexEntry entry(String name, ModelState state, String reason) {
    return new IndexEntry(name, "1", state, reason, "");
  }

  private static NeuralNetworks networks(DeviceDescription... devices) {
    return answering(NeuralNetworks.class, Map.of("devices", List.of(devices)));
  }

  private static DeviceDescription device(String id, State state, String reason) {
    return new DeviceDescription(
        id,
        DeviceInfo.builder("test-" + id, "1")
            .type(DeviceType.CPU)
            .capabilities(new Capabilities(ONE, ONE, Map.of(), ONE, ONE))
            .build(),
        state,
        reason,
        DeviceHealth.GOOD);
  }

  private static String text(Result result) {
    return StreamSupport.stream(result.spliterator(), false)
        .map(entry -> entry.getStatus() + " " + entry.getMessage())
        .collect(Collectors.joining("\n"));
  }

  @Test
  void aServerIsAsReadyAsItSays() {
    IndexEntry good = entry("m", ModelState.READY, "");
    assertEquals(Status.OK, new ModelsCheck(null).execute().getStatus());
    assertEquals(Status.OK, new ModelsCheck(server(true, good)).execute().getStatus());
    assertEquals(
        Status.OK,
        new ModelsCheck(server(true, good, entry("n", ModelState.UNAVAILABLE, "it was unloaded")))
            .execute()
            .getStatus());
    Result stale =
        new ModelsCheck(server(true, entry("m", ModelState.READY, "m.onnx: damaged"))).execute();
    assertEquals(Status.WARN, stale.getStatus());
    assertTrue(
        text(stale)
            .contains("WARN m version 1 answers, but not as its file is now: m.onnx: damaged"),
        text(stale));
    assertEquals(
        Status.TEMPORARILY_UNAVAILABLE,
        new ModelsCheck(server(false, good, entry("n", ModelState.LOADING, "")))
            .execute()
            .getStatus());
    Result failed =
        new ModelsCheck(server(false, entry("n", ModelState.UNAVAILABLE, "n.onnx: damaged")))
            .execute();
    assertEquals(Status.CRITICAL, failed.getStatus());
    assertTrue(text(failed).contains("n version 1 is UNAVAILABLE: n.onnx: damaged"), text(failed));
  }

  @Test
  void oneDeviceIsEnough() {
    DeviceDescription good = device("cpu", State.AVAILABLE, "");
    DeviceDescription bad = device("npu", State.QUARANTINED, "it hung");
    Result both = new DevicesCheck(networks(good, bad)).execute();
    assertEquals(Status.OK, both.getStatus());
    assertEquals("OK devices that take work: cpu", text(both));
    assertEquals(Status.CRITICAL, new DevicesCheck(networks(bad)).execute().getStatus());
    assertEquals(Status.CRITICAL, new DevicesCheck(networks()).execute().getStatus());
  }

  @Test
  void misbehaviourIsTold() {
    DeviceDescription good = device("cpu", State.AVAILABLE, "");
    assertEquals(Status.OK, new QuarantineCheck(networks(good)).execute().getStatus());
    Result result =
        new QuarantineCheck(networks(good, device("npu", State.QUARANTINED, "it hung"))).execute();
    assertEquals(Status.WARN, result.getStatus());
    assertTrue(text(result).contains("WARN npu is QUARANTINED: it hung"), text(result));
  }

  @Test
  void storageMustBeWritableAndHaveRoom() throws Exception {
    assertEquals(Status.OK, new StorageCheck(folder, 1).execute().getStatus());
    assertEquals(0, Files.list(folder).count(), "nothing is left");
    assertEquals(Status.WARN, new StorageCheck(folder, Long.MAX_VALUE).execute().getStatus());
    assertEquals(Status.WARN, new StorageCheck(null, 1).execute().getStatus());
    Path file = Files.createFile(folder.resolve("file"));
    assertEquals(Status.CRITICAL, new StorageCheck(file.resolve("below"), 1).execute().getStatus());
  }
}
