// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static io.thalamus.grpc.server.Messages.bytes;
import static io.thalamus.grpc.server.Messages.field;
import static io.thalamus.grpc.server.Messages.floats;
import static io.thalamus.grpc.server.Messages.message;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import inference.GRPCInferenceServiceGrpc;
import inference.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import inference.GrpcPredictV2.InferParameter;
import inference.GrpcPredictV2.InferTensorContents;
import inference.GrpcPredictV2.ModelInferRequest;
import inference.GrpcPredictV2.ModelInferRequest.InferInputTensor;
import inference.GrpcPredictV2.ModelInferResponse;
import inference.GrpcPredictV2.ModelMetadataRequest;
import inference.GrpcPredictV2.ModelMetadataResponse;
import inference.GrpcPredictV2.ModelReadyRequest;
import inference.GrpcPredictV2.ServerLiveRequest;
import inference.GrpcPredictV2.ServerMetadataRequest;
import inference.GrpcPredictV2.ServerMetadataResponse;
import inference.GrpcPredictV2.ServerReadyRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.model.Priority;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceRequest.Sequence;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Calls by a client with the messages that the authors of the protocol generate. */
class GeneratedClientTest {
  @Test
  void generatedMessagesAreUnderstood() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      GRPCInferenceServiceBlockingStub stub =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel);
      assertTrue(stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      assertFalse(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      running.served.load("echo");
      assertTrue(stub.serverReady(ServerReadyRequest.getDefaultInstance()).getReady());
      assertTrue(
          stub.modelReady(ModelReadyRequest.newBuilder().setName("echo").build()).getReady());
      assertFalse(
          stub.modelReady(ModelReadyRequest.newBuilder().setName("later").build()).getReady());
      ServerMetadataResponse server =
          stub.serverMetadata(ServerMetadataRequest.getDefaultInstance());
      assertEquals(
          "fake 1 [one, two]",
          server.getName() + " " + server.getVersion() + " " + server.getExtensionsList());
      ModelMetadataResponse model =
          stub.modelMetadata(ModelMetadataRequest.newBuilder().setName("echo").build());
      assertEquals("x", model.getInputs(0).getName());
      assertEquals("FP32", model.getInputs(0).getDatatype());
      assertEquals(List.of(-1L, 2L), model.getInputs(0).getShapeList());
      assertEquals(List.of(), model.getInputs(1).getShapeList());
      assertEquals("x_out", model.getOutputs(0).getName());
      assertEquals("onnx", model.getPlatform());
    }
  }

  @Test
  void rawContentsParametersAndReport() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      byte[] large = new byte[600_000];
      new Random(7).nextBytes(large);
      ModelInferRequest request =
          ModelInferRequest.newBuilder()
              .setModelName("echo")
              .setModelVersion("3")
              .setId("raw")
              .putParameters("priority", number(1))
              .putParameters("timeout", number(5_000_000))
              .putParameters("sequence_id", number(42))
              .putParameters("sequence_start", flag(true))
              .putParameters("report", flag(true))
              .putParameters("unknown", InferParameter.newBuilder().setStringParam("!").build())
              .addInputs(input("a", "UINT8", large.length))
              .addInputs(input("b", "FP32", 1))
              .addRawInputContents(ByteString.copyFrom(large))
              .addRawInputContents(ByteString.copyFrom(floats(3)))
              .addOutputs(
                  ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("b_out"))
              .addOutputs(
                  ModelInferRequest.InferRequestedOutputTensor.newBuilder().setName("a_out"))
              .build();
      ModelInferResponse response =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel).modelInfer(request);
      assertEquals("raw", response.getId());
      assertEquals("3", response.getModelVersion());
      assertEquals("a_out", response.getOutputs(0).getName());
      assertEquals(List.of((long) large.length), response.getOutputs(0).getShapeList());
      assertArrayEquals(large, response.getRawOutputContents(0).toByteArray());
      assertArrayEquals(floats(3), response.getRawOutputContents(1).toByteArray());
      assertEquals("cpu", response.getParametersOrThrow("ran_on").getStringParam());
      assertEquals(1, response.getParametersOrThrow("attempts").getInt64Param());
      assertEquals(4, response.getParametersOrThrow("queue_us").getInt64Param());
      assertEquals(5, response.getParametersOrThrow("compute_us").getInt64Param());
      assertEquals(7, response.getParametersOrThrow("driver_us").getInt64Param());
      assertEquals(6, response.getParametersOrThrow("hardware_us").getInt64Param());
      InferenceRequest came = running.served.requests.remove();
      assertEquals(Optional.of("3"), came.version());
      assertEquals(Priority.HIGH, came.priority());
      assertEquals(Optional.of(Duration.ofSeconds(5)), came.timeout());
      assertEquals(Optional.of(new Sequence("42", true, false)), came.sequence());
      assertEquals(List.of("b_out", "a_out"), came.outputs());
    }
  }

  @Test
  void classesComeInPlaceOfValues() throws Exception {
    ModelInferRequest request =
        ModelInferRequest.newBuilder()
            .setModelName("echo")
            .addInputs(input("x", "FP32", 4))
            .addRawInputContents(ByteString.copyFrom(floats(1.1f, 3.3f, 0.5f, 2.4f)))
            .addOutputs(
                ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                    .setName("x_out")
                    .putParameters("classification", number(2)))
            .build();
    try (RunningServer running = new RunningServer(Map.of())) {
      ModelInferResponse response =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel).modelInfer(request);
      assertEquals("BYTES", response.getOutputs(0).getDatatype());
      assertEquals(List.of(2L), response.getOutputs(0).getShapeList());
      assertEquals(
          "\n\0\0\0003.300000:1\n\0\0\0002.400000:3",
          response.getRawOutputContents(0).toStringUtf8());
    }
  }

  private static InferParameter number(long value) {
    return InferParameter.newBuilder().setInt64Param(value).build();
  }

  private static InferParameter named(String value) {
    return InferParameter.newBuilder().setStringParam(value).build();
  }

  private static InferParameter flag(boolean value) {
    return InferParameter.newBuilder().setBoolParam(value).build();
  }

  private static InferInputTensor.Builder input(String name, String datatype, long count) {
    return InferInputTensor.newBuilder().setName(name).setDatatype(datatype).addShape(count);
  }

  @Test
  void typedContentsOfEachDatatype() throws Exception {
    Map<String, InferTensorContents.Builder> contents =
        Map.ofEntries(
            Map.entry("BOOL", contents().addBoolContents(true).addBoolContents(false)),
            Map.entry("INT8", contents().addIntContents(-128).addIntContents(127)),
            Map.entry("INT16", contents().addIntContents(-32768).addIntContents(5)),
            Map.entry("INT32", contents().addIntContents(Integer.MIN_VALUE).addIntContents(1)),
            Map.entry("INT64", contents().addInt64Contents(Long.MIN_VALUE).addInt64Contents(1)),
            Map.entry("UINT8", contents().addUintContents(255).addUintContents(0)),
            Map.entry("UINT16", contents().addUintContents(65535).addUintContents(0)),
            Map.entry("UINT32", contents().addUintContents(-1).addUintContents(0)),
            Map.entry("UINT64", contents().addUint64Contents(-1).addUint64Contents(0)),
            Map.entry("FP32", contents().addFp32Contents(1.5f).addFp32Contents(Float.NaN)),
            Map.entry("FP64", contents().addFp64Contents(-0.0).addFp64Contents(2)),
            Map.entry("BYTES", contents().addBytesContents(text("ab")).addBytesContents(text(""))));
    Map<String, byte[]> expected =
        Map.ofEntries(
            Map.entry("BOOL", new byte[] {1, 0}),
            Map.entry("INT8", new byte[] {-128, 127}),
            Map.entry("INT16", new byte[] {0, -128, 5, 0}),
            Map.entry("INT32", little(8).putInt(Integer.MIN_VALUE).putInt(1).array()),
            Map.entry("INT64", little(16).putLong(Long.MIN_VALUE).putLong(1).array()),
            Map.entry("UINT8", new byte[] {-1, 0}),
            Map.entry("UINT16", new byte[] {-1, -1, 0, 0}),
            Map.entry("UINT32", little(8).putInt(-1).putInt(0).array()),
            Map.entry("UINT64", little(16).putLong(-1).putLong(0).array()),
            Map.entry("FP32", floats(1.5f, Float.NaN)),
            Map.entry("FP64", little(16).putDouble(-0.0).putDouble(2).array()),
            Map.entry(
                "BYTES", little(10).putInt(2).put((byte) 'a').put((byte) 'b').putInt(0).array()));
    try (RunningServer running = new RunningServer(Map.of())) {
      GRPCInferenceServiceBlockingStub stub =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel);
      for (Map.Entry<String, InferTensorContents.Builder> each : contents.entrySet()) {
        ModelInferRequest request =
            ModelInferRequest.newBuilder()
                .setModelName("echo")
                .addInputs(input("x", each.getKey(), 2).setContents(each.getValue()))
                .build();
        assertArrayEquals(
            expected.get(each.getKey()),
            stub.modelInfer(request).getRawOutputContents(0).toByteArray(),
            each.getKey());
      }
    }
  }

  private static InferTensorContents.Builder contents() {
    return InferTensorContents.newBuilder();
  }

  private static ByteString text(String value) {
    return ByteString.copyFromUtf8(value);
  }

  private static ByteBuffer little(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Test
  void mistakesAreNamed() throws Exception {
    ModelInferRequest.Builder base = ModelInferRequest.newBuilder().setModelName("echo");
    Map<ModelInferRequest.Builder, String> messages =
        Map.of(
            ModelInferRequest.newBuilder(), "model_name is missing",
            base.clone().addInputs(input("x", "FP33", 1)),
                "input 'x' has datatype 'FP33': expected one of the protocol, as FP32",
            base.clone()
                    .addInputs(input("x", "INT8", 1).setContents(contents().addFp32Contents(1))),
                "input 'x' is INT8 and has fp32_contents: expected int_contents",
            base.clone()
                    .addInputs(input("x", "INT8", 1).setContents(contents().addIntContents(128))),
                "input 'x' is INT8: 128 does not fit",
            base.clone()
                    .addInputs(input("x", "BF16", 1).setContents(contents().addFp32Contents(1))),
                "input 'x' is BF16: expected raw_input_contents",
            base.clone().addInputs(input("x", "INT8", -1)),
                "input '' has a dimension of -1: expected at least 0",
            base.clone().addRawInputContents(text("a")),
                "the message has 1 raw_input_contents: expected 0, one for each input without"
                    + " another value",
            base.clone().putParameters("timeout", flag(true)),
                "parameter timeout is true: expected an int64_param of at least 0",
            base.clone().putParameters("sequence_end", flag(true)),
                "sequence_end is true: expected a sequence_id too");
    try (RunningServer running = new RunningServer(Map.of())) {
      GRPCInferenceServiceBlockingStub stub =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel);
      messages.forEach(
          (request, message) -> {
            Status status =
                assertThrows(StatusRuntimeException.class, () -> stub.modelInfer(request.build()))
                    .getStatus();
            assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode(), message);
            if (!message.contains("dimension")) {
              assertEquals(message, status.getDescription());
            }
          });
      Status unknown =
          assertThrows(
                  StatusRuntimeException.class,
                  () -> stub.modelMetadata(ModelMetadataRequest.newBuilder().setName("no").build()))
              .getStatus();
      assertEquals(Status.Code.NOT_FOUND, unknown.getCode());
      assertEquals(0, running.call("CudaSharedMemoryStatus", message()).length);
      assertEquals(0, running.call("CudaSharedMemoryUnregister", message()).length);
      assertEquals(Status.Code.UNIMPLEMENTED, code(running, "CudaSharedMemoryRegister", message()));
      assertEquals(Status.Code.UNIMPLEMENTED, code(running, "TraceSetting", message()));
      MessageWriter file =
          message().text(2, "echo").entry(3, "file:1/model.onnx", message().bytes(4, new byte[3]));
      assertEquals(Status.Code.UNIMPLEMENTED, code(running, "RepositoryModelLoad", file));
    }
  }

  private static Status.Code code(RunningServer running, String call, MessageWriter message) {
    return assertThrows(StatusRuntimeException.class, () -> running.call(call, message))
        .getStatus()
        .getCode();
  }

  @Test
  void sharedMemoryOfInputsAndOutputs() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.call(
          "SystemSharedMemoryRegister",
          message().text(1, "r").text(2, "/key").integer(3, 8).integer(4, 1_024));
      byte[] entry = bytes(running.call("SystemSharedMemoryStatus", message()), 1).getFirst();
      assertEquals(List.of("/key"), field(bytes(entry, 2).getFirst(), 2));
      MemorySegment.copy(floats(6, 7), 0, running.served.shared, ValueLayout.JAVA_BYTE, 16, 8);
      ModelInferRequest request =
          ModelInferRequest.newBuilder()
              .setModelName("echo")
              .addInputs(
                  input("x", "FP32", 2)
                      .putParameters("shared_memory_region", named("r"))
                      .putParameters("shared_memory_offset", number(16))
                      .putParameters("shared_memory_byte_size", number(8)))
              .addOutputs(
                  ModelInferRequest.InferRequestedOutputTensor.newBuilder()
                      .setName("x_out")
                      .putParameters("shared_memory_region", named("r"))
                      .putParameters("shared_memory_offset", number(64))
                      .putParameters("shared_memory_byte_size", number(8)))
              .build();
      ModelInferResponse response =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel).modelInfer(request);
      assertEquals(0, response.getRawOutputContentsCount());
      assertEquals(
          64, response.getOutputs(0).getParametersOrThrow("shared_memory_offset").getInt64Param());
      assertArrayEquals(
          floats(6, 7), running.served.shared.asSlice(64, 8).toArray(ValueLayout.JAVA_BYTE));
      running.call("SystemSharedMemoryUnregister", message().text(1, "r"));
      assertEquals(List.of(), bytes(running.call("SystemSharedMemoryStatus", message()), 1));
    }
  }

  @Test
  void tokensOfHttpHoldHereToo() throws Exception {
    Map<String, Object> settings =
        Map.of("readTokens", new String[] {"reader:r"}, "inferTokens", new String[] {"user:i"});
    try (RunningServer running = new RunningServer(settings)) {
      running.served.load("echo");
      GRPCInferenceServiceBlockingStub stub =
          GRPCInferenceServiceGrpc.newBlockingStub(running.channel);
      assertTrue(stub.serverLive(ServerLiveRequest.getDefaultInstance()).getLive());
      Map<String, Status.Code> codes =
          Map.of(
              "r", Status.Code.PERMISSION_DENIED,
              "i", Status.Code.OK,
              "x", Status.Code.UNAUTHENTICATED,
              "", Status.Code.UNAUTHENTICATED);
      ModelInferRequest request =
          ModelInferRequest.newBuilder()
              .setModelName("echo")
              .addInputs(input("x", "FP32", 1))
              .addRawInputContents(ByteString.copyFrom(floats(1)))
              .build();
      codes.forEach(
          (token, code) -> {
            GRPCInferenceServiceBlockingStub client =
                stub.withInterceptors(
                    MetadataUtils.newAttachHeadersInterceptor(RunningServer.token(token)));
            Status.Code came = Status.Code.OK;
            try {
              client.modelInfer(request);
            } catch (StatusRuntimeException e) {
              came = e.getStatus().getCode();
            }
            assertEquals(code, came, token);
          });
      assertEquals(Optional.of("user"), running.served.requests.remove().client());
    }
  }
}
