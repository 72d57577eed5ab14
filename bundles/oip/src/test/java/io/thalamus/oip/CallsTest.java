// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.oip.Client.bytes;
import static io.thalamus.oip.Client.failure;
import static io.thalamus.oip.Client.good;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Priority;
import io.thalamus.serving.Failure;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CallsTest {
  private static final String GOOD = Client.request("UINT8", "[1]", "[1]");

  private final Client client = new Client();

  CallsTest() throws IOException {}

  @AfterEach
  void close() {
    client.close();
  }

  @Test
  void theServerAndItsModelsDescribeThemselves() throws Exception {
    assertEquals(
        "{\"name\":\"fake\",\"version\":\"1.2\",\"extensions\":[\"binary_tensor_data\"]}",
        client.get("/v2"));
    assertEquals("{\"live\":true}", client.get("/v2/health/live"));
    assertEquals("{\"ready\":true}", client.get("/v2/health/ready"));
    String metadata =
        """
        {"name":"echo","versions":["2","3"],"platform":"onnx",\
        "parameters":{"version":"3","digest":"abcd"},\
        "inputs":[{"name":"x","datatype":"INT8","shape":[-1,2],\
        "parameters":{"scale":0.5,"zero_point":3}}],\
        "outputs":[{"name":"x","datatype":"INT8","shape":[-1,2],\
        "parameters":{"scale":0.5,"zero_point":3}}]}\
        """;
    assertEquals(metadata, client.get("/v2/models/echo"));
    assertEquals(metadata, client.get("/v2/models/echo/versions/3"));
    String ready = "{\"name\":\"echo\",\"ready\":true}";
    assertEquals(ready, client.get("/v2/models/echo/ready"));
    assertEquals(ready, client.get("/v2/models/echo/versions/3/ready"));
    String config =
        """
        {"name":"echo","platform":"onnx","backend":"thalamus","max_batch_size":0,\
        "input":[{"name":"x","data_type":"TYPE_INT8","dims":[-1,2]}],\
        "output":[{"name":"x","data_type":"TYPE_INT8","dims":[-1,2]}]}\
        """;
    assertEquals(config, client.get("/v2/models/echo/config"));
    assertEquals(config, client.get("/v2/models/echo/versions/3/config"));
    for (String path :
        List.of("/v2/models/stats", "/v2/models/echo/stats", "/v2/models/echo/versions/3/stats")) {
      String statistics = client.get(path);
      assertTrue(
          statistics.startsWith(
              """
              {"model_stats":[{"name":"echo","version":"3","last_inference":77,\
              "inference_count":5,"execution_count":6,"pending_count":1,\
              "inference_stats":{"success":{"count":5,"ns":1000},\
              """),
          statistics);
    }
  }

  @Test
  void whoIsNotReadySaysSo() throws Exception {
    client.fake.isReady = false;
    for (String path : List.of("/v2/health/ready", "/v2/models/echo/ready")) {
      HttpResponse<byte[]> answer = client.send("GET", path, new byte[0]);
      String told = failure(503, answer);
      assertTrue(told.contains("model 'echo' version"), told);
      assertEquals("1", answer.headers().firstValue("Retry-After").orElse(""));
    }
    client.get("/v2/health/live");
  }

  @Test
  void unknownModelsVersionsAndPathsAreNotFound() throws Exception {
    for (String path :
        List.of(
            "/v2/models/none",
            "/v2/models/none/ready",
            "/v2/models/echo/versions/9",
            "/v2/models/echo/versions/9/ready",
            "/v2/models/none/config",
            "/v2/models/none/stats",
            "/v2/elsewhere")) {
      failure(404, client.send("GET", path, new byte[0]));
    }
    for (String path :
        List.of(
            "/v2/models/none/infer",
            "/v2/models/echo/versions/9/infer",
            "/v2/repository/models/none/load",
            "/v2/repository/models/none/unload")) {
      failure(404, client.send("POST", path, new byte[0]));
    }
    failure(404, client.send("POST", "/v2/models/none/infer", bytes("no JSON")));
    failure(405, client.send("GET", Client.INFER, new byte[0]));
  }

  @Test
  void theRepositoryIsShownAndChanged() throws Exception {
    String index =
        """
        [{"name":"echo","version":"3","state":"READY","reason":"","digest":"abcd"},\
        {"name":"echo","version":"4","state":"UNAVAILABLE",\
        "reason":"model.onnx: it is \\"bad\\"","digest":""}]\
        """;
    assertEquals(index, client.post("/v2/repository/index", ""));
    assertEquals(index, client.post("/v2/repository/index", "{\"ready\":false}"));
    assertFalse(client.post("/v2/repository/index", "{\"ready\":true}").contains("UNAVAILABLE"));
    assertEquals("{}", client.post("/v2/repository/models/echo/load", ""));
    assertEquals("{}", client.post("/v2/repository/models/echo/load", "{\"parameters\":{}}"));
    assertEquals(
        "{}",
        client.post(
            "/v2/repository/models/echo/unload", "{\"parameters\":{\"unload_dependents\":true}}"));
    assertEquals(List.of("load echo", "load echo", "unload echo"), client.fake.calls);
    for (String name : List.of("config", "file:1/model.onnx")) {
      String told =
          failure(
              501,
              client.send(
                  "POST",
                  "/v2/repository/models/echo/load",
                  bytes("{\"parameters\":{\"" + name + "\":\"eA==\"}}")));
      assertTrue(told.startsWith("parameter '" + name + "' is not taken"), told);
    }
    assertEquals(3, client.fake.calls.size());
  }

  @Test
  void sharedMemoryIsRegistered() throws Exception {
    String region = "/v2/systemsharedmemory/region/mine";
    assertEquals(
        "{}", client.post(region + "/register", "{\"key\":\"/k\",\"offset\":4,\"byte_size\":8}"));
    client.post(region + "/register", "{\"byte_size\":8,\"key\":\"k\"}");
    client.post(region + "/unregister", "");
    client.post("/v2/systemsharedmemory/unregister", "");
    assertEquals(
        List.of("register mine /k 4 8", "register mine k 0 8", "unregister mine", "unregister "),
        client.fake.calls);
    String status = "[{\"name\":\"r\",\"key\":\"/key\",\"offset\":4,\"byte_size\":8}]";
    assertEquals(status, client.get("/v2/systemsharedmemory/status"));
    assertEquals(status, client.get(region + "/status"));
    assertEquals(
        "key is missing: expected the name of a shared memory object",
        failure(400, client.send("POST", region + "/register", bytes("{\"byte_size\":8}"))));
    assertEquals(
        "byte_size is missing: expected the bytes of the region",
        failure(400, client.send("POST", region + "/register", bytes("{\"key\":\"k\"}"))));
    assertEquals(
        "offset is -1: expected a whole number of at least 0",
        failure(400, client.send("POST", region + "/register", bytes("{\"offset\":-1}"))));
  }

  @Test
  void thereAreNoRegionsOfCuda() throws Exception {
    String memory = "/v2/cudasharedmemory";
    assertEquals("[]", good(client.send("GET", memory + "/status", new byte[0])));
    for (String path : List.of("/unregister", "/region/r/unregister")) {
      assertEquals("{}", good(client.send("POST", memory + path, new byte[0])));
    }
    for (String[] call : new String[][] {{"GET", "status"}, {"POST", "register"}}) {
      String told =
          failure(501, client.send(call[0], memory + "/region/r/" + call[1], new byte[0]));
      assertTrue(told.startsWith("CUDA shared memory is not done here"), told);
    }
  }

  private InferenceRequest with(String parameters) throws Exception {
    client.infer(GOOD.replaceFirst("\\{", "{\"parameters\":{" + parameters + "},"));
    return client.fake.last;
  }

  @Test
  void parametersArriveAsTheyAreMeant() throws Exception {
    assertEquals(Priority.MEDIUM, with("").priority());
    assertEquals(Priority.MEDIUM, with("\"priority\":0").priority());
    assertEquals(Priority.HIGH, with("\"priority\":1").priority());
    assertEquals(Priority.MEDIUM, with("\"priority\":2").priority());
    assertEquals(Priority.LOW, with("\"priority\":3").priority());
    assertEquals(Priority.LOW, with("\"priority\":9223372036854775807").priority());
    assertEquals(Optional.empty(), with("\"timeout\":0").timeout());
    assertEquals(Optional.of(Duration.ofNanos(1_500_000)), with("\"timeout\":1500").timeout());
    assertTrue(with("\"timeout\":9223372036854775807").timeout().orElseThrow().toDays() > 10_000);
    assertEquals(Optional.empty(), with("\"sequence_id\":0").sequence());
    assertEquals(Optional.empty(), with("\"sequence_id\":\"\"").sequence());
    assertEquals(
        Optional.of(new Sequence("18446744073709551615", true, false)),
        with("\"sequence_id\":18446744073709551615,\"sequence_start\":true").sequence());
    assertEquals(
        Optional.of(new Sequence("a", false, true)),
        with("\"sequence_end\":true,\"sequence_id\":\"a\",\"sequence_start\":false").sequence());
    assertFalse(with("\"unknown\":{\"a\":[1,{}]}").report());
    InferenceRequest plain = client.fake.last;
    assertEquals("", plain.id());
    assertEquals(Optional.empty(), plain.version());
    assertEquals(Optional.empty(), plain.traceParent());
    assertTrue(System.nanoTime() - plain.arrivalNanos() > 0);
  }

  @Test
  void theReportIsInTheAnswer() throws Exception {
    String answer = client.infer(GOOD.replaceFirst("\\{", "{\"parameters\":{\"report\":true},"));
    assertTrue(
        answer.startsWith(
            """
            {"model_name":"echo","model_version":"3","parameters":{"ran_on":"cpu,simd",\
            "attempts":2,"queue_us":2000,"compute_us":3001,"driver_us":15},"outputs":[\
            """),
        answer);
    assertTrue(client.fake.last.report());
    client.fake.isHardwareMeasured = true;
    answer = client.infer(GOOD.replaceFirst("\\{", "{\"report\":true,"));
    assertTrue(answer.contains("\"driver_us\":15,\"hardware_us\":2}"), answer);
  }

  @Test
  void versionTraceAndIdArePassedOn() throws Exception {
    String trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    HttpResponse<byte[]> answer =
        client.send(
            "POST",
            "/v2/models/echo/versions/3/infer",
            bytes("{\"id\":\"a \\\" b\"," + GOOD.substring(1)),
            "traceparent",
            trace);
    assertTrue(Client.good(answer).contains("\"id\":\"a \\\" b\""), Client.text(answer));
    assertEquals(Optional.of("3"), client.fake.last.version());
    assertEquals(Optional.of(trace), client.fake.last.traceParent());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{} | inputs is missing: expected an array of objects",
        "`` | inputs is missing: expected an array of objects",
        "[] | the request is an array: expected an object",
        "5 | the request is 5: expected an object",
        "{'inputs':{}} | inputs is an object: expected an array of objects",
        "{'inputs':[5]} | inputs[0] is 5: expected an object",
        "{'inputs':[],'inputs':[]} | inputs is given twice: expected one",
        "{'inputs':[],'outputs':[],'outputs':[]} | outputs is given twice: expected one",
        "{'inputs':[{}]} | inputs[0]: name is missing: expected a string",
        "{'inputs':[{'name':5}]} | inputs[0]: name is 5: expected a string",
        "{'inputs':[{'name':'x'}]} | input 'x': datatype is missing: expected a string",
        "{'inputs':[{'name':'x','datatype':'INT7'}]} | input 'x': datatype is 'INT7': expected one"
            + " of BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, BF16,"
            + " FP32, FP64, BYTES",
        "{'inputs':[{'name':'x','datatype':'INT8'}]} | input 'x': shape is missing: expected an"
            + " array of whole numbers",
        "{'inputs':[{'name':'x','datatype':'INT8','shape':[1]}]} | input 'x' has no value: expected"
            + " one of data, binary_data_size and shared_memory_region",
        "{'inputs':[{'name':'x','data':[1],'data':[1]}]} | input 'x': data is given twice:"
            + " expected one",
        "{'inputs':[{'name':'x','parameters':7}]} | input 'x': parameters is 7: expected an object",
        "{'id':7} | id is 7: expected a string",
        "{'parameters':[]} | parameters is an array: expected an object",
        "{'parameters':{'priority':'high'}} | parameter priority is the string 'high': expected a"
            + " whole number of at least 0",
        "{'parameters':{'priority':-1}} | parameter priority is -1: expected a whole number of at"
            + " least 0",
        "{'parameters':{'timeout':1.5}} | parameter timeout is 1.5: expected a whole number of at"
            + " least 0",
        "{'parameters':{'report':1}} | parameter report is 1: expected true or false",
        "{'parameters':{'binary_data_output':1.5}} | parameter binary_data_output is 1.5:"
            + " expected true or false",
        "{'parameters':{'sequence_id':true}} | parameter sequence_id is true: expected a string or"
            + " a whole number",
        "{'inputs':[],'parameters':{'sequence_start':true}} | sequence_start is true: expected a"
            + " sequence_id too",
        "{'inputs':[],'parameters':{'sequence_end':true}} | sequence_end is true: expected a"
            + " sequence_id too",
        "{'outputs':[{}]} | outputs[0]: name is missing: expected a string",
        "{'outputs':[{'name':'x','parameters':{'binary_data':0}}]} | output 'x': binary_data is 0:"
            + " expected true or false",
        "{'inputs':[]} {} | the request goes on behind its end, with an object: expected one"
            + " object, and Inference-Header-Content-Length if values follow",
      })
  void aRequestThatIsWrongIsToldWhere(String json, String message) throws Exception {
    assertEquals(message, client.refusal(400, json.replace('\'', '"')).replace('"', '\''));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'inputs':[",
        "{'inputs':[]",
        "{'inputs' []}",
        "{inputs:[]}",
        "nul",
        "{'inputs':[]}}",
        "{'id':'\u0001'}",
        "}",
        "<xml/>",
      })
  void whatIsNoJsonIsTold(String json) throws Exception {
    String told = client.refusal(400, json.replace('\'', '"'));
    assertTrue(told.contains("JSON"), told);
  }

  @Test
  void wrongUtf8IsRefused() throws Exception {
    byte[] body = bytes("{\"id\":\"@@\",\"inputs\":[]}");
    body[8] = (byte) 0xc3;
    body[7] = (byte) 0xff;
    String told = failure(400, client.infer(body));
    assertTrue(told.contains("UTF-8"), told);
    told = failure(400, client.infer("{}".getBytes(StandardCharsets.UTF_16LE)));
    assertTrue(told.contains("UTF-8"), told);
  }

  @Test
  void manyTensorsAndKeysAreTooMany() throws Exception {
    String inputs =
        IntStream.range(0, 1_001)
            .mapToObj(i -> "{\"name\":\"x\",\"datatype\":\"BOOL\",\"shape\":[0],\"data\":[]}")
            .collect(Collectors.joining(",", "{\"inputs\":[", "]}"));
    assertEquals("inputs has more than 1000 objects", client.refusal(413, inputs));
    String keys =
        IntStream.range(0, 100_001)
            .mapToObj(i -> "\"k" + i + "\":0")
            .collect(Collectors.joining(",", "{\"a\":{", "}}"));
    assertEquals("the request has more than 100000 keys", client.refusal(413, keys));
  }

  @Test
  void classesComeInPlaceOfValues() throws Exception {
    String request =
        "{\"outputs\":[{\"name\":\"x\",\"parameters\":{\"classification\":2%s}}],"
            + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"%s\",\"shape\":[1,4],"
            + "\"data\":[1,0,1,0]}]}";
    String answer = client.infer(request.formatted("", "FP32"));
    String classes =
        "\"outputs\":[{\"name\":\"x\",\"datatype\":\"BYTES\",\"shape\":[2],"
            + "\"data\":[\"1.000000:0\",\"1.000000:2\"]}]";
    assertTrue(answer.contains(classes), answer);
    assertEquals(
        "output 'x' is BOOL: expected an integer datatype, FP32 or FP64 for classification",
        client.refusal(400, request.formatted("", "BOOL")));
    String region = ",\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":4";
    assertEquals(
        "output 'x' has classification and shared_memory_region: expected one",
        client.refusal(400, request.formatted(region, "FP32")));
  }

  @Test
  void whatIsNullIsNotThere() throws Exception {
    String answer =
        client.infer(
            """
            {"id":null,"parameters":null,"outputs":null,"inputs":[{"name":"x","shape":[2],\
            "datatype":"FP32","parameters":{"binary_data_size":null},"data":[1,2]}]}\
            """);
    assertFalse(answer.contains("\"id\""), answer);
    assertTrue(answer.contains("\"data\":[1.0,2.0]"), answer);
    String without =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":null,\"data\":[1,2]}]}";
    assertEquals("input 'x': datatype is missing: expected a string", client.refusal(400, without));
    assertEquals(
        "inputs is missing: expected an array of objects",
        client.refusal(400, "{\"inputs\":null}"));
  }

  @Test
  void aReportMayBeAskedForBesideTheInputs() throws Exception {
    String answer = client.infer(GOOD.replaceFirst("\\{", "{\"report\":true,"));
    assertTrue(answer.contains("\"ran_on\""), answer);
  }

  @Test
  void brokenJsonIsToldWithItsPlace() throws Exception {
    String told = client.refusal(400, "{\"id\":\"a\",\n \"inputs\":[");
    assertTrue(told.startsWith("the request is not right JSON at line 2, column "), told);
    assertFalse(told.contains("Source"), told);
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void everyFailureHasItsStatus(Failure failure) throws Exception {
    client.fake.failure =
        new ServingException(failure, "it \"was\" so", Optional.of(Duration.ofMillis(2_001)), null);
    HttpResponse<byte[]> answer = client.infer(bytes(GOOD));
    assertEquals("it \"was\" so", failure(failure.httpStatus(), answer));
    assertEquals("3", answer.headers().firstValue("Retry-After").orElse(""));
    client.fake.failure = new ServingException(failure, "no hope");
    answer = client.infer(bytes(GOOD));
    assertTrue(answer.headers().firstValue("Retry-After").isEmpty());
    client.fake.failure = null;
    client.infer(GOOD);
  }

  @Test
  void theMemoryOfAllRequestsHasALimit() throws Exception {
    try (Client small = new Client(Map.of("memoryLimit", 100L))) {
      small.infer(Client.request("UINT8", "[10]", "[1,2,3,4,5,6,7,8,9,0]"));
      String sixty =
          IntStream.range(0, 60).mapToObj(i -> "1").collect(Collectors.joining(",", "[", "]"));
      HttpResponse<byte[]> answer = small.infer(bytes(Client.request("UINT8", "[60]", sixty)));
      String told = failure(429, answer);
      assertTrue(told.startsWith("no memory for the 60 bytes of output 'x'"), told);
      assertEquals("1", answer.headers().firstValue("Retry-After").orElse(""));
      told = small.refusal(413, Client.request("FP32", "[60]", sixty));
      assertEquals("input 'x' needs 240 bytes: expected at most 100", told);
    }
  }

  @Test
  void aClientThatLeavesCancelsItsRequest() throws Exception {
    client.fake.isWaiting = true;
    try (Socket socket = new Socket(client.uri().getHost(), client.uri().getPort())) {
      String head =
          "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(Client.INFER, GOOD.length(), GOOD);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
      client.fake.arrived.get(20, TimeUnit.SECONDS);
    }
    client.fake.cancelled.get(20, TimeUnit.SECONDS);
  }
}
