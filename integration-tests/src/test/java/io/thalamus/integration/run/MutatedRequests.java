// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;

/** Requests for an inference of {@code digits} that are wrong in one way each. For one thread. */
final class MutatedRequests {
  static final int INPUT_BYTES = 28 * 28;

  private static final String INFER = "/v2/models/digits/infer";
  private static final String LENGTH = "Inference-Header-Content-Length";

  /** More than the server inflates. */
  private static final int BOMB_MEGABYTES = 300;

  private static final String SHAPE = "[1,28,28,1]";

  private final Random random;

  /**
   * A request.
   *
   * @param isCut whether the client ends its side behind it
   * @param mayBeRight whether chance may have left it right
   */
  record Mutated(String kind, byte[] bytes, boolean isCut, boolean mayBeRight) {}

  MutatedRequests(Random random) {
    this.random = random;
  }

  /** Returns the next one. */
  Mutated next() {
    return switch (random.nextInt(18)) {
      case 0 -> truncated();
      case 1 -> wrongHeaderLength();
      case 2 -> wrong("size of a value", binary(size(), SHAPE, "INT8"), true);
      case 3 -> wrong("deep JSON", bytes("{\"inputs\":" + deep() + "}"), false);
      case 4 -> wrong("huge shape", json(hugeShape(), "INT8", data()), false);
      case 5 -> wrong("element", json(SHAPE, "INT8", dataWith(badElement())), false);
      case 6 -> wrong("UTF-8", badUtf8(), false);
      case 7 -> wrong("datatype", json(SHAPE, badDatatype(), data()), false);
      case 8 -> flipped("flipped JSON", json(SHAPE, "INT8", data()), false);
      case 9 -> wrong("random body", random(random.nextInt(1, 3_000)), false);
      case 10 -> flippedHead();
      case 11 -> wrongContentLength();
      case 12 -> wrongChunks();
      case 13 -> wrongGzip();
      case 14 -> wrong("count of elements", json(SHAPE, "INT8", shortData()), false);
      case 15 -> wrongPath();
      case 16 -> wrong("field", bytes(badField()), false);
      default -> wrongSharedMemory();
    };
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  private byte[] random(int count) {
    byte[] bytes = new byte[count];
    random.nextBytes(bytes);
    return bytes;
  }

  private String one(String... choices) {
    return choices[random.nextInt(choices.length)];
  }

  /** Returns a request whose lengths are right. */
  private static byte[] post(String path, byte[] body, String... headers) {
    String head =
        "POST "
            + path
            + " HTTP/1.1\r\nHost: x\r\nContent-Length: "
            + body.length
            + "\r\n"
            + Arrays.stream(headers).map(each -> each + "\r\n").collect(Collectors.joining())
            + "\r\n";
    return join(bytes(head), body);
  }

  private Mutated wrong(String kind, byte[] body, boolean isBinary) {
    // The header of a binary body says where its JSON ends: behind the last brace that it has.
    int length = new String(body, StandardCharsets.ISO_8859_1).lastIndexOf("]}") + 2;
    byte[] request = isBinary ? post(INFER, body, LENGTH + ": " + length) : post(INFER, body);
    return new Mutated(kind, request, false, false);
  }

  private byte[] json(String shape, String datatype, String data) {
    return bytes(
        "{\"inputs\":[{\"name\":\"picture\",\"shape\":%s,\"datatype\":%s,\"data\":%s}]}"
            .formatted(shape, "\"" + datatype + "\"", data));
  }

  private byte[] binary(String size, String shape, String datatype) {
    String header =
        "{\"inputs\":[{\"name\":\"picture\",\"parameters\":{\"binary_data_size\":%s},\"datatype\":\"%s\",\"shape\":%s}]}"
            .formatted(size, datatype, shape);
    return join(bytes(header), new byte[INPUT_BYTES]);
  }

  private String data() {
    return dataWith("1");
  }

  private String dataWith(String element) {
    int place = random.nextInt(INPUT_BYTES);
    return IntStream.range(0, INPUT_BYTES)
        .mapToObj(i -> i == place ? element : Integer.toString(i % 100))
        .collect(Collectors.joining(",", "[", "]"));
  }

  private String shortData() {
    int count = random.nextBoolean() ? random.nextInt(INPUT_BYTES) : INPUT_BYTES + 1;
    return IntStream.range(0, count)
        .mapToObj(Integer::toString)
        .map(each -> "1")
        .collect(Collectors.joining(",", "[", "]"));
  }

  private Mutated truncated() {
    byte[] whole = post(INFER, json(SHAPE, "INT8", data()));
    return new Mutated(
        "truncated", Arrays.copyOf(whole, random.nextInt(1, whole.length)), true, false);
  }

  private Mutated wrongHeaderLength() {
    byte[] body = binary(Integer.toString(INPUT_BYTES), SHAPE, "INT8");
    String length =
        one(
            "-1",
            "x",
            "1e2",
            "99999999999999999999",
            Integer.toString(body.length + 1 + random.nextInt(1_000)),
            Integer.toString(body.length - INPUT_BYTES - 1 - random.nextInt(20)),
            Integer.toString(body.length - INPUT_BYTES + 1 + random.nextInt(20)),
            "0");
    return new Mutated(
        "length of the JSON", post(INFER, body, LENGTH + ": " + length), false, false);
  }

  private String size() {
    return one(
        "-1",
        "0",
        "1e3",
        "null",
        "\"784\"",
        "9223372036854775807",
        "99999999999999999999",
        Integer.toString(INPUT_BYTES - 1 - random.nextInt(100)),
        Integer.toString(INPUT_BYTES + 1 + random.nextInt(100)));
  }

  private String deep() {
    int depth = random.nextInt(70, 50_000);
    return one("[", "{\"a\":").repeat(depth);
  }

  private String hugeShape() {
    return one(
        "[2147483647,2147483647]",
        "[9223372036854775807]",
        "[1,28,28,1000000000]",
        "[4294967296,4294967296,4294967296]",
        "[-1]",
        "[1,28,28,-1]",
        "[0]",
        "[1.5]",
        "[" + "1,".repeat(100) + "784]",
        "[784]",
        "{}",
        "null");
  }

  private String badElement() {
    return one(
        "128",
        "-129",
        "1.5",
        "NaN",
        "Infinity",
        "-Infinity",
        "null",
        "true",
        "\"1\"",
        "[1]",
        "{}",
        "1e400",
        "9".repeat(random.nextInt(3, 2_000)),
        "01",
        "+",
        "");
  }

  private byte[] badUtf8() {
    byte[] body = bytes("{\"id\":\"@@@@\",\"inputs\":[]}");
    byte[][] sequences = {
      {(byte) 0xff, 'a', 'a', 'a'},
      {(byte) 0xc3, '"', 'a', 'a'},
      {(byte) 0xe2, (byte) 0x82, 'a', 'a'},
      {(byte) 0xf8, (byte) 0x88, (byte) 0x80, (byte) 0x80},
      {0, 0, 0, 0},
    };
    System.arraycopy(sequences[random.nextInt(sequences.length)], 0, body, 7, 4);
    return body;
  }

  private String badDatatype() {
    return one("INT7", "int8", "", "FP32", "UINT8", "BYTES", "FP16", "BOOL", "INT8 ", "\\u0000");
  }

  private Mutated flipped(String kind, byte[] body, boolean isCut) {
    byte[] changed = body.clone();
    for (int i = random.nextInt(1, 6); i > 0; i--) {
      changed[random.nextInt(changed.length)] = (byte) random.nextInt(256);
    }
    return new Mutated(kind, post(INFER, changed), isCut, true);
  }

  /** A head with other bytes may announce more than follows: the client says that it ends. */
  private Mutated flippedHead() {
    byte[] whole = post(INFER, json(SHAPE, "INT8", data()));
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      whole[random.nextInt(80)] = (byte) random.nextInt(256);
    }
    return new Mutated("flipped head", whole, true, true);
  }

  private Mutated wrongContentLength() {
    byte[] body = json(SHAPE, "INT8", data());
    String length =
        one(
            "-1",
            "x",
            "99999999999999999999",
            "1,2",
            Integer.toString(body.length - 1 - random.nextInt(body.length - 1)),
            Integer.toString(body.length + 1 + random.nextInt(1_000)),
            "10000000000");
    String head = "POST " + INFER + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + length;
    return new Mutated("Content-Length", join(bytes(head + "\r\n\r\n"), body), true, false);
  }

  private Mutated wrongChunks() {
    byte[] body = json(SHAPE, "INT8", data());
    String size =
        one(
            "-5",
            "zz",
            "ffffffffffffffff",
            "7fffffff",
            Integer.toHexString(body.length - 1),
            Integer.toHexString(body.length + 5));
    String head =
        "POST " + INFER + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + size;
    byte[] request = join(bytes(head + "\r\n"), body, bytes("\r\n0\r\n\r\n"));
    return new Mutated("chunks", request, true, false);
  }

  private Mutated wrongGzip() {
    ByteArrayOutputStream zipped = new ByteArrayOutputStream();
    boolean isBomb = random.nextInt(500) == 0;
    try (GZIPOutputStream zip = new GZIPOutputStream(zipped)) {
      for (int i = 0; i < BOMB_MEGABYTES && isBomb; i++) {
        zip.write(new byte[1 << 20]);
      }
      zip.write(json(SHAPE, "INT8", data()));
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot be written", e);
    }
    byte[] body = zipped.toByteArray();
    if (!isBomb && random.nextBoolean()) {
      body = Arrays.copyOf(body, random.nextInt(body.length));
    } else if (!isBomb) {
      body[body.length - 1 - random.nextInt(8)] ^= (byte) (1 << random.nextInt(8));
    }
    return new Mutated("gzip", post(INFER, body, "Content-Encoding: gzip"), false, false);
  }

  private Mutated wrongPath() {
    String path =
        one(
            "/v2/models/digits/versions/7/infer",
            "/v2/models/digits/versions/%00/infer",
            "/v2/models/../infer",
            "/v2/models/%zz/infer",
            "/v2/models/" + "x".repeat(random.nextInt(1, 5_000)) + "/infer",
            "/v2/models//infer",
            "/v2/models/digits/infer/more",
            "/v2",
            "/",
            "//v2/models",
            "*");
    return new Mutated("path", post(path, json(SHAPE, "INT8", data())), false, false);
  }

  private String badField() {
    return one(
        "",
        "{}",
        "[]",
        "null",
        "{\"inputs\":null}",
        "{\"inputs\":[null]}",
        "{\"inputs\":[{}]}",
        "{\"inputs\":[],\"inputs\":[]}",
        "{\"inputs\":[]}",
        "{\"inputs\":[]}{}",
        "{\"id\":{},\"inputs\":[]}",
        "{\"parameters\":{\"priority\":-1},\"inputs\":[]}",
        "{\"parameters\":{\"timeout\":\"soon\"},\"inputs\":[]}",
        "{\"parameters\":{\"sequence_start\":true},\"inputs\":[]}",
        "{\"outputs\":[{\"name\":5}],\"inputs\":[]}",
        "{\"" + "k".repeat(random.nextInt(60_000)) + "\":1}",
        "{" + keys() + "\"inputs\":[]}");
  }

  private String keys() {
    return IntStream.range(0, random.nextInt(500))
        .mapToObj(i -> "\"k" + random.nextInt() + "\":[],")
        .collect(Collectors.joining());
  }

  private Mutated wrongSharedMemory() {
    if (random.nextBoolean()) {
      String key = one("/none", "../etc/passwd", "", "a/b", "/..", ".", "\\u0000", "/none/");
      String body =
          "{\"key\":\"%s\",\"offset\":%s,\"byte_size\":%s}"
              .formatted(key, one("0", "-1", "9223372036854775807"), one("1", "0", "-4"));
      return new Mutated(
          "registration",
          post("/v2/systemsharedmemory/region/r/register", bytes(body)),
          false,
          false);
    }
    List<String> parameters =
        List.of(
            "\"shared_memory_region\":\"none\",\"shared_memory_byte_size\":784",
            "\"shared_memory_region\":7",
            "\"shared_memory_byte_size\":784",
            "\"shared_memory_region\":\"none\"",
            "\"shared_memory_region\":\"none\",\"shared_memory_byte_size\":-1");
    String body =
        "{\"inputs\":[{\"name\":\"picture\",\"shape\":%s,\"datatype\":\"INT8\",\"parameters\":{%s}}]}"
            .formatted(SHAPE, parameters.get(random.nextInt(parameters.size())));
    return wrong("region", bytes(body), false);
  }
}
