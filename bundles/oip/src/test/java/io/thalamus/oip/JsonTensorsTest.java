// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import static io.thalamus.oip.Client.request;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonTensorsTest {
  private final Client client = new Client();

  JsonTensorsTest() throws IOException {}

  @AfterEach
  void close() {
    client.close();
  }

  private String data(String answer) {
    return answer.substring(answer.indexOf("\"data\":") + 7, answer.length() - 3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "BOOL   | [true,false]",
        "UINT8  | [0,255]",
        "INT8   | [-128,127]",
        "UINT16 | [0,65535]",
        "INT16  | [-32768,32767]",
        "UINT32 | [0,4294967295]",
        "INT32  | [-2147483648,2147483647]",
        "UINT64 | [0,18446744073709551615]",
        "INT64  | [-9223372036854775808,9223372036854775807]",
        "FP32   | [1.4E-45,3.4028235E38]",
        "FP32   | [NaN,-Infinity]",
        "FP32   | [0.1,-0.0]",
        "FP64   | [4.9E-324,1.7976931348623157E308]",
        "BYTES  | ['','ä€\\n']",
      })
  void everyDatatypeTakesItsBoundaryValues(String datatype, String data) throws Exception {
    String json = data.replace('\'', '"');
    assertEquals(json, data(client.infer(request(datatype, "[2]", json))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "UINT8  | 256 | a whole number from 0 to 255",
        "UINT8  | -1  | a whole number from 0 to 255",
        "INT8   | 128 | a whole number from -128 to 127",
        "INT8   | 1.5 | a whole number from -128 to 127",
        "INT8   | '1' | a whole number from -128 to 127",
        "INT8   | null | a whole number from -128 to 127",
        "INT8   | {}  | a whole number from -128 to 127",
        "INT8   | NaN | a whole number from -128 to 127",
        "UINT16 | 65536 | a whole number from 0 to 65535",
        "INT16  | -32769 | a whole number from -32768 to 32767",
        "UINT32 | 4294967296 | a whole number from 0 to 4294967295",
        "INT32  | 2147483648 | a whole number from -2147483648 to 2147483647",
        "UINT64 | 18446744073709551616 | a whole number from 0 to 18446744073709551615",
        "UINT64 | -1 | a whole number from 0 to 18446744073709551615",
        "INT64  | 9223372036854775808 | a whole number from",
        "BOOL   | 2 | true or false",
        "FP32   | 3.5e38 | at most 3.4028235E38",
        "FP32   | true | a number",
        "FP64   | -1.8e308 | at most 1.7976931348623157E308",
        "FP64   | 'x' | a number",
        "BYTES  | 1 | a string",
      })
  void aValueThatIsNoneOfItsDatatypeIsNamed(String datatype, String value, String expected)
      throws Exception {
    String data = "[" + (datatype.equals("BYTES") ? "\"\"" : "1") + "," + value + "]";
    String told = client.refusal(400, request(datatype, "[2]", data.replace('\'', '"')));
    assertTrue(told.startsWith("input 'x': data element 1 is "), told);
    assertTrue(told.contains(": expected ") && told.contains(expected), told);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[2,3] | [1,2,3,4,5,6]",
        "[2,3] | [[1,2,3],[4,5,6]]",
        "[2,3,1] | [[1,2,3],[4,5,6]]",
        "[2,3,1] | [[[1],[2],[3]],[[4],[5],[6]]]",
        "[6] | [1,2,3,4,5,6]",
      })
  void flatAndNestedDataAreTheSame(String shape, String data) throws Exception {
    assertEquals("[1,2,3,4,5,6]", data(client.infer(request("INT32", shape, data))));
  }

  @Test
  void aScalarAndNothingHaveForms() throws Exception {
    assertEquals("[7]", data(client.infer(request("INT32", "[]", "[7]"))));
    assertEquals("[]", data(client.infer(request("INT32", "[0]", "[]"))));
    assertEquals("[]", data(client.infer(request("FP32", "[2,0]", "[[],[]]"))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[2,3] | [1,2,3,4,5] | data has 5 elements: expected 6 for INT32 [2, 3]",
        "[2,3] | [1,2,3,4,5,6,7] | data has more than 6 elements: expected 6",
        "[2,3] | [[1,2,3],[4,5]] | the array at element 3 of data has 2 elements: expected 3",
        "[2,3] | [[1,2],[3,4],[5,6]] | the array at element 0 of data has 2 elements: expected 3",
        "[2,3] | [[1,2,3],4,5,6] | values and arrays beside each other at element 3",
        "[2,3] | [1,[2,3,4],5,6] | values and arrays beside each other at element 1",
        "[2,3] | [[1,2,3]] | data has 3 elements: expected 6",
        "[2] | [[1],[2]] | nested deeper than its shape [2]",
        "[2] | 5 | data is 5: expected an array",
        "[2] | {} | data is an object: expected an array",
        "[-1] | [5] | shape[0] is -1: expected a whole number of at least 0",
        "[1.0] | [5] | shape[0] is 1.0: expected a whole number of at least 0",
        "[1e3] | [5] | shape[0] is 1e3: expected a whole number of at least 0",
        "['1'] | [5] | shape[0] is the string '1': expected a whole number of at least 0",
        "[99999999999999999999] | [5] | expected a whole number of at least 0",
        "3 | [5] | shape is 3: expected an array of whole numbers",
      })
  void dataThatDoNotFitTheirShapeAreRefused(String shape, String data, String message)
      throws Exception {
    String told = client.refusal(400, request("INT32", shape.replace('\'', '"'), data));
    assertTrue(told.startsWith("input 'x'"), told);
    assertTrue(told.contains(message), told);
  }

  @Test
  void aHugeShapeTakesNoMemory() throws Exception {
    String told = client.refusal(400, request("FP64", "[1000000,1000]", "[1,2]"));
    assertTrue(told.contains("data has too few elements: expected 1000000000 for FP64"), told);
    told = client.refusal(413, request("FP64", "[4294967296,4294967296]", "[1,2]"));
    assertTrue(told.contains("too large"), told);
    String dimensions =
        IntStream.range(0, 65).mapToObj(i -> "1").collect(Collectors.joining(",", "[", "]"));
    told = client.refusal(413, request("FP64", dimensions, "[1]"));
    assertTrue(told.contains("more than 64 dimensions"), told);
  }

  @Test
  void deepJsonIsRefused() throws Exception {
    String deep = "[".repeat(100_000) + "]".repeat(100_000);
    String told = client.refusal(400, request("FP64", "[1]", deep));
    assertTrue(told.contains("nested deeper"), told);
    told = client.refusal(400, "{\"other\":" + deep + "}");
    assertTrue(told.contains("64"), told);
  }

  @Test
  void dataMayComeBeforeWhatTheyAre() throws Exception {
    String answer =
        client.infer(
            """
            {"inputs": [{"data": [[1, 2], [3, 4]], "shape": [2, 2], "name": "x",
             "datatype": "UINT8"}, {"name": "y", "data": ["[", "\\"]"], "datatype": "BYTES",
             "shape": [2]}]}
            """);
    assertTrue(answer.contains("\"data\":[1,2,3,4]}"), answer);
    assertTrue(answer.contains("\"data\":[\"[\",\"\\\"]\"]}"), answer);
    String told =
        client.refusal(
            400,
            "{\"inputs\":[{\"data\":[1,300],\"shape\":[2],\"name\":\"x\",\"datatype\":\"UINT8\"}]}");
    assertTrue(told.startsWith("input 'x': data element 1 is 300"), told);
  }

  @Test
  void halfPrecisionHasNoForm() throws Exception {
    String told = client.refusal(400, request("FP16", "[1]", "[1]"));
    assertTrue(told.contains("FP16, which JSON cannot hold: expected binary_data_size"), told);
    told = client.refusal(400, request("BF16", "[1]", "[1]"));
    assertTrue(told.contains("BF16"), told);
  }

  @Test
  void manyValuesAreReadAsWellAsFew() throws Exception {
    String data =
        IntStream.range(0, 100_000)
            .mapToObj(i -> Float.toString(i * 0.37f))
            .collect(Collectors.joining(",", "[", "]"));
    assertEquals(data, data(client.infer(request("FP32", "[100,1000]", data))));
  }
}
