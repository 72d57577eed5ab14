// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.serving.Datatype;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceServer.Region;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Regions of shared memory, and requests whose values are there. */
class RegionsTest extends ServerTest {
  @TempDir Path objects;
  private Regions regions;

  @BeforeEach
  void makeObject() throws Exception {
    regions = new Regions(objects);
    Files.write(objects.resolve("object"), new byte[8192]);
    write("m.tflite", "times 3");
    look();
  }

  private void writeObject(int offset, float... values) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    try (FileChannel channel =
        FileChannel.open(objects.resolve("object"), StandardOpenOption.WRITE)) {
      channel.write(bytes, offset);
    }
  }

  private float[] readObject(int offset, int count) throws IOException {
    float[] values = new float[count];
    ByteBuffer.wrap(Files.readAllBytes(objects.resolve("object")))
        .order(ByteOrder.LITTLE_ENDIAN)
        .slice(offset, 4 * count)
        .order(ByteOrder.LITTLE_ENDIAN)
        .asFloatBuffer()
        .get(values);
    return values;
  }

  private void shorten() throws IOException {
    try (FileChannel channel =
        FileChannel.open(objects.resolve("object"), StandardOpenOption.WRITE)) {
      channel.truncate(0);
    }
  }

  /** A request whose input is at offset 8 of a region, and whose output goes to offset 4096. */
  private InferenceRequest shared() throws ServingException {
    MemorySegment value = regions.segment("r", 8, 16);
    Input input = new Input("x", Datatype.FP32, List.of(2L, 2L), value);
    return InferenceRequest.of(
        "m", List.of(input), (output, bytes) -> regions.segment("r", 4096, 16));
  }

  @Test
  void valuesAreReadFromARegionAndWrittenToIt() throws Exception {
    regions.register("r", "/object", 0, 8192);
    writeObject(8, 1, 2, 3, 4);
    get(server.infer(shared()));
    assertArrayEquals(new float[] {3, 6, 9, 12}, readObject(4096, 4));
  }

  @Test
  void anObjectThatWasShortenedHurtsItsOwnRequestAlone() throws Exception {
    regions.register("r", "object", 0, 8192);
    InferenceRequest request = shared();
    shorten();
    ServingException failure = failure(server.infer(request));
    assertEquals(Failure.INVALID_ARGUMENT, failure.failure());
    assertEquals(
        "input 'x': the shared memory behind its region was shortened", failure.getMessage());
    assertArrayEquals(new float[] {3, 6}, times("m", 1, 2));
  }

  @Test
  void anOutputThatWasShortenedMeanwhileIsAFailure() throws Exception {
    regions.register("r", "object", 0, 8192);
    InferenceRequest request = InferenceRequest.of("m", List.of(x(1, 2)), shared().allocator());
    shorten();
    assertEquals(
        "output 'y': the shared memory behind its region was shortened",
        failure(server.infer(request)).getMessage());
  }

  @Test
  void regionsAreKnownByName() throws Exception {
    regions.register("a", "object", 4096, 4096);
    regions.register("b", "/object", 0, 100);
    assertEquals(List.of(new Region("a", "object", 4096, 4096)), regions.status("a"));
    assertEquals(2, regions.status("").size());
    assertEquals(100, regions.segment("b", 0, 100).byteSize());
    regions.unregister("a");
    regions.unregister("nobody");
    assertEquals(
        Failure.NOT_FOUND,
        assertThrows(ServingException.class, () -> regions.status("a")).failure());
    regions.unregister("");
    assertEquals(List.of(), regions.status(""));
  }

  @Test
  void whatIsNotThereIsRefused() throws Exception {
    regions.register("r", "object", 0, 100);
    for (String key : List.of("", "/", "none", "../object", "/a/b", "..", "/..")) {
      refused("q", key, 0, 100);
    }
    refused("", "object", 0, 100);
    refused("r", "object", 0, 100);
    refused("q", "object", 0, 8193);
    refused("q", "object", 8192, 1);
    refused("q", "object", -1, 10);
    refused("q", "object", 0, 0);
    refused("q", "object", Long.MAX_VALUE, Long.MAX_VALUE);
    for (long[] part : new long[][] {{0, 101}, {100, 1}, {-1, 1}, {1, -1}, {Long.MAX_VALUE, 1}}) {
      ServingException e =
          assertThrows(ServingException.class, () -> regions.segment("r", part[0], part[1]));
      assertTrue(e.getMessage().contains("has 100 bytes"), e.getMessage());
    }
  }

  @Test
  void anObjectThatIsNotThereIsSaidSo() {
    ServingException e =
        assertThrows(ServingException.class, () -> regions.register("r", "/none", 0, 8));
    assertEquals(
        "region 'r' of shared memory: object '/none' cannot be opened: it does not exist",
        e.getMessage());
  }

  private void refused(String name, String key, long offset, long bytes) {
    ServingException e =
        assertThrows(ServingException.class, () -> regions.register(name, key, offset, bytes), key);
    assertEquals(Failure.INVALID_ARGUMENT, e.failure());
  }
}
