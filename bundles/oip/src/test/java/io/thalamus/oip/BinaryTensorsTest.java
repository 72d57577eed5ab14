// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.oip.Client.bytes;
import static io.thalamus.oip.Client.failure;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Quantization;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.TensorMetadata;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BinaryTensorsTest {
  private static final String LENGTH = "Inference-Header-Content-Length";

  private final Client client = new Client(Map.of("inflatedLimit", 100_000L));

  BinaryTensorsTest() throws IOException {}

  @AfterEach
  void close() {
    client.close();
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  private HttpResponse<byte[]> send(String json, byte[]... values) throws Exception {
    byte[] header = bytes(json);
    return client.infer(join(header, join(values)), LENGTH, Integer.toString(header.length));
  }

  private static String header(HttpResponse<byte[]> answer) {
    Client.good(answer);
    int length = Integer.parseInt(answer.headers().firstValue(LENGTH).orElseThrow());
    return new String(answer.body(), 0, length);
  }

  private static byte[] tail(HttpResponse<byte[]> answer) {
    int length = Integer.parseInt(answer.headers().firstValue(LENGTH).orElseThrow());
    return Arrays.copyOfRange(answer.body(), length, answer.body().length);
  }

  private static String input(String name, String datatype, String shape, int size) {
    return """
    {"name":"%s","datatype":"%s","shape":%s,"parameters":{"binary_data_size":%d}}\
    """
        .formatted(name, datatype, shape, size);
  }

  @Test
  void valuesFollowTheJsonBothWays() throws Exception {
    byte[] x = {1, 2, 3, 4, 5, 6};
    byte[] y = {9, 8, 7, 6};
    HttpResponse<byte[]> answer =
        send(
            """
            {"id":"me","parameters":{"binary_data_output":true},"inputs":[%s,%s]}\
            """
                .formatted(input("x", "FP16", "[3]", 6), input("y", "FP32", "[1]", 4)),
            x,
            y);
    String header = header(answer);
    assertEquals(
        """
        {"model_name":"echo","model_version":"3","id":"me","outputs":[\
        {"name":"x","datatype":"FP16","shape":[3],"parameters":{"binary_data_size":6}},\
        {"name":"y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}\
        """,
        header);
    assertArrayEquals(join(x, y), tail(answer));
    assertEquals(
        "application/octet-stream", answer.headers().firstValue("Content-Type").orElseThrow());
    // The first value needs no copy: it begins at a multiple of 64.
    assertEquals(0, client.fake.values.getFirst().address() % 64);
    assertEquals(
        client.fake.values.getFirst().address() + 6, client.fake.values.getLast().address());
  }

  @Test
  void oneOutputMayBeBytesAndTheOtherText() throws Exception {
    String inputs =
        "\"inputs\":[%s,%s]".formatted(input("x", "UINT8", "[2]", 2), input("y", "INT8", "[1]", 1));
    byte[] values = {1, 2, -3};
    HttpResponse<byte[]> answer =
        send("{%s,\"outputs\":[{\"name\":\"y\"}]}".formatted(inputs), values);
    assertEquals(
        """
        {"model_name":"echo","model_version":"3","outputs":[\
        {"name":"y","datatype":"INT8","shape":[1],"data":[-3]}]}\
        """,
        Client.good(answer));
    assertTrue(answer.headers().firstValue(LENGTH).isEmpty());
    answer =
        send(
            """
            {"outputs":[{"name":"x","parameters":{"binary_data":false}},{"name":"y"}],%s,
             "parameters":{"binary_data_output":true}}\
            """
                .formatted(inputs),
            values);
    assertTrue(
        header(answer)
            .contains("[{\"name\":\"x\",\"datatype\":\"UINT8\",\"shape\":[2],\"data\":[1,2]}"));
    assertArrayEquals(new byte[] {-3}, tail(answer));
  }

  @Test
  void textsHaveTheirLengthsBefore() throws Exception {
    byte[] value = {2, 0, 0, 0, 'h', 'i', 0, 0, 0, 0};
    HttpResponse<byte[]> answer =
        send("{\"inputs\":[" + input("x", "BYTES", "[2]", 10) + "]}", value);
    assertTrue(Client.good(answer).contains("\"data\":[\"hi\",\"\"]"));
    byte[] noText = {1, 0, 0, 0, -1};
    answer = send("{\"inputs\":[" + input("x", "BYTES", "[1]", 5) + "]}", noText);
    assertTrue(failure(400, answer).contains("no text, which JSON cannot hold"));
  }

  @Test
  void halfPrecisionIsNotGivenAsText() throws Exception {
    String told =
        failure(
            400, send("{\"inputs\":[" + input("x", "FP16", "[1]", 2) + "]}", new byte[] {1, 2}));
    assertEquals(
        "output 'x' is FP16, which JSON cannot hold: expected binary_data or binary_data_output",
        told);
  }

  @Test
  void sizesMustAgree() throws Exception {
    String one = "{\"inputs\":[" + input("x", "UINT8", "[2]", 2) + "]}";
    assertEquals(
        "3 bytes follow the JSON: expected 2, as the binary_data_size of inputs say",
        failure(400, send(one, new byte[3])));
    assertEquals(
        "input 'x': binary_data_size is 2: expected at most the 1 bytes that are left of the body",
        failure(400, send(one, new byte[1])));
    String negative = one.replace(":2}", ":-2}");
    assertEquals(
        "input 'x': binary_data_size is -2: expected a whole number of at least 0",
        failure(400, send(negative, new byte[2])));
    String both = one.replace("\"shape\"", "\"data\":[1,2],\"shape\"");
    assertEquals(
        "input 'x' has several values: expected one of data, binary_data_size and"
            + " shared_memory_region",
        failure(400, send(both, new byte[2])));
  }

  @Test
  void theLengthOfTheJsonIsChecked() throws Exception {
    for (String wrong : List.of("-1", "x", "1.5", "99999999999999999999", "0x10")) {
      String told = failure(400, client.infer(bytes("{}"), LENGTH, wrong));
      assertTrue(told.startsWith(LENGTH + " is '" + wrong + "': expected"), told);
    }
    assertEquals(
        LENGTH + " is 3: expected at most the 2 bytes of the body",
        failure(400, client.infer(bytes("{}"), LENGTH, "3")));
    String told = failure(400, client.infer(bytes("{\"inputs\":[]}"), LENGTH, "5"));
    assertTrue(told.startsWith("the request is not right JSON"), told);
  }

  @Test
  void aBodyMayBeAValueAlone() throws Exception {
    byte[] value = {1, 2, 3, 4, 5, 6};
    HttpResponse<byte[]> answer = client.infer(value, LENGTH, "0");
    assertTrue(header(answer).contains("\"shape\":[3,2]"), header(answer));
    assertArrayEquals(value, tail(answer));
    assertEquals(0, client.fake.values.getFirst().address() % 64);
    client.fake.inputs = List.of(FakeServer.PICTURE, FakeServer.PICTURE);
    assertTrue(failure(400, client.infer(value, LENGTH, "0")).contains("the model has 2 inputs"));
    client.fake.inputs =
        List.of(new TensorMetadata("x", Datatype.FP32, List.of(-1L, -1L), Quantization.NONE));
    assertEquals(
        "input 'x' has shape [-1, -1]: expected JSON that says the dimensions of its 6 bytes",
        failure(400, client.infer(value, LENGTH, "0")));
  }

  @Test
  void outputsThatAreLargerThanWasKnownAreAnswered() throws Exception {
    client.fake.growth = 3;
    byte[] x = {1, 2, 3};
    HttpResponse<byte[]> answer =
        send(
            "{\"parameters\":{\"binary_data_output\":true},\"inputs\":["
                + input("x", "UINT8", "[3]", 3)
                + "]}",
            x);
    assertArrayEquals(x, tail(answer));
  }

  private static byte[] gzip(byte[] bytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (GZIPOutputStream zip = new GZIPOutputStream(out)) {
      zip.write(bytes);
    }
    return out.toByteArray();
  }

  private static byte[] deflate(byte[] bytes) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (DeflaterOutputStream zip = new DeflaterOutputStream(out)) {
      zip.write(bytes);
    }
    return out.toByteArray();
  }

  @Test
  void bodiesMayBeCompressed() throws Exception {
    byte[] value = new byte[50_000];
    Arrays.fill(value, (byte) 7);
    byte[] header =
        bytes(
            "{\"parameters\":{\"binary_data_output\":true},\"inputs\":["
                + input("x", "UINT8", "[50000]", 50_000)
                + "]}");
    String length = Integer.toString(header.length);
    byte[] body = join(header, value);
    for (String coding : List.of("gzip", "x-gzip", "deflate", "identity", "GZIP")) {
      byte[] sent =
          coding.equals("identity") ? body : coding.equals("deflate") ? deflate(body) : gzip(body);
      assertArrayEquals(
          value, tail(client.infer(sent, LENGTH, length, "Content-Encoding", coding)), coding);
    }
    // Two members are one body, and what stands at the end is the size of the last alone.
    byte[] members =
        join(
            gzip(Arrays.copyOf(body, 40_000)), gzip(Arrays.copyOfRange(body, 40_000, body.length)));
    assertArrayEquals(
        value, tail(client.infer(members, LENGTH, length, "Content-Encoding", "gzip")));
  }

  @Test
  void aBodyThatIsNotCompressedRightIsRefused() throws Exception {
    byte[] right = gzip(bytes("{\"inputs\":[]}"));
    byte[] damaged = right.clone();
    damaged[right.length - 8] ^= 1;
    for (byte[] wrong :
        List.of(bytes("{}"), Arrays.copyOf(right, right.length - 4), damaged, new byte[0])) {
      String told = failure(400, client.infer(wrong, "Content-Encoding", "gzip"));
      assertTrue(told.startsWith("the body is not gzip, which Content-Encoding says"), told);
    }
    String told = failure(400, client.infer(right, "Content-Encoding", "deflate"));
    assertTrue(told.startsWith("the body is not deflate"), told);
    assertEquals(
        "Content-Encoding is 'br': expected gzip, deflate or identity",
        failure(415, client.infer(right, "Content-Encoding", "br")));
    byte[] bomb = gzip(new byte[100_001]);
    assertEquals(
        "the body is larger than 100000 bytes once it is decompressed",
        failure(413, client.infer(bomb, "Content-Encoding", "gzip")));
    bomb = deflate(new byte[50_000_000]);
    failure(413, client.infer(bomb, "Content-Encoding", "deflate"));
  }

  @Test
  void answersAreCompressedForWhoTakesIt() throws Exception {
    String json = Client.request("UINT8", "[3]", "[1,2,3]");
    String plain = client.infer(json);
    for (String accepted :
        List.of("gzip", "deflate;q=0.5, gzip", "br, x-gzip;q=0.1", "deflate, gzip, br")) {
      HttpResponse<byte[]> answer = client.infer(bytes(json), "Accept-Encoding", accepted);
      assertEquals("gzip", answer.headers().firstValue("Content-Encoding").orElse(""), accepted);
      try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(answer.body()))) {
        assertEquals(plain, new String(in.readAllBytes()));
      }
    }
    for (String accepted : List.of("gzip;q=0", "identity", "br", "", "gzip;q=x")) {
      HttpResponse<byte[]> answer = client.infer(bytes(json), "Accept-Encoding", accepted);
      assertEquals(plain, Client.good(answer), accepted);
      assertTrue(answer.headers().firstValue("Content-Encoding").isEmpty());
    }
  }

  @Test
  void valuesMayLieInSharedMemory() throws Exception {
    var region = Arena.ofAuto().allocate(100);
    client.fake.regions.put("r", region);
    region.set(ValueLayout.JAVA_BYTE, 10, (byte) 42);
    String answer =
        client.infer(
            """
            {"inputs":[{"name":"x","datatype":"UINT8","shape":[2],"parameters":
             {"shared_memory_region":"r","shared_memory_offset":10,"shared_memory_byte_size":2}}],
             "outputs":[{"name":"x","parameters":
             {"shared_memory_region":"r","shared_memory_offset":50,"shared_memory_byte_size":30}}]}
            """);
    assertTrue(
        answer.contains(
            """
            "parameters":{"shared_memory_region":"r","shared_memory_offset":50,\
            "shared_memory_byte_size":2}}]}\
            """),
        answer);
    assertEquals(42, region.get(ValueLayout.JAVA_BYTE, 50));
    String small =
        """
        {"inputs":[{"name":"x","datatype":"UINT8","shape":[2],"data":[1,2]}],
         "outputs":[{"name":"x","parameters":
         {"shared_memory_region":"r","shared_memory_byte_size":1}}]}
        """;
    assertEquals(
        "output 'x': shared_memory_byte_size is 1: expected at least 2",
        client.refusal(400, small));
    client.fake.growth = 2;
    assertEquals(
        "output 'x': shared_memory_byte_size is 1: expected at least 2",
        client.refusal(400, small));
    assertEquals(
        "output 'x': shared_memory_byte_size is missing: expected the bytes that the value may"
            + " have",
        client.refusal(400, small.replace(",\"shared_memory_byte_size\":1", "")));
    assertEquals(
        "output 'x': shared_memory_region is missing: expected the name of a registered region",
        client.refusal(400, small.replace("\"shared_memory_region\":\"r\",", "")));
    assertEquals("no region 's'", client.refusal(404, small.replace("\"r\"", "\"s\"")));
  }
}
