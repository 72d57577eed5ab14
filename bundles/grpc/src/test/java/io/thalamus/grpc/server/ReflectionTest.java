// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import static io.thalamus.grpc.server.Messages.bytes;
import static io.thalamus.grpc.server.Messages.field;
import static io.thalamus.grpc.server.Messages.message;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.DynamicMessage;
import inference.GrpcPredictV2;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.thalamus.grpc.wire.MessageWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that know no definitions ask for them, as grpcurl. */
class ReflectionTest {
  private static final String V1 = "grpc.reflection.v1.ServerReflection";
  private static final String INFERENCE = "inference.GRPCInferenceService";

  private static StreamObserver<byte[]> ask(
      RunningServer running, String service, BlockingQueue<Object> answers) {
    return ClientCalls.asyncBidiStreamingCall(
        running.channel.newCall(
            RunningServer.method(service, "ServerReflectionInfo", MethodType.BIDI_STREAMING),
            CallOptions.DEFAULT),
        new StreamObserver<>() {
          @Override
          public void onNext(byte[] value) {
            answers.add(value);
          }

          @Override
          public void onError(Throwable thrown) {
            answers.add(Status.fromThrowable(thrown));
          }

          @Override
          public void onCompleted() {
            answers.add(Status.OK);
          }
        });
  }

  private static byte[] next(BlockingQueue<Object> answers) throws InterruptedException {
    Object answer = answers.poll(20, TimeUnit.SECONDS);
    assertTrue(answer instanceof byte[], () -> "an answer: " + answer);
    return (byte[]) answer;
  }

  private static FileDescriptor file(RunningServer running, String symbol) throws Exception {
    BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
    StreamObserver<byte[]> questions = ask(running, V1, answers);
    questions.onNext(message().text(4, symbol).toBytes());
    byte[] file = bytes(bytes(next(answers), 4).getFirst(), 1).getFirst();
    questions.onCompleted();
    FileDescriptorProto proto = FileDescriptorProto.parseFrom(file);
    assertTrue(proto.getUnknownFields().asMap().isEmpty(), "fields of a descriptor");
    return FileDescriptor.buildFrom(proto, new FileDescriptor[0]);
  }

  @ParameterizedTest
  @ValueSource(strings = {V1, "grpc.reflection.v1alpha.ServerReflection"})
  void questionsOfOneStreamAreAnsweredInOrder(String service) throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
      StreamObserver<byte[]> questions = ask(running, service, answers);
      byte[] list = message().text(1, "here").text(7, "*").toBytes();
      questions.onNext(list);
      questions.onNext(message().text(4, INFERENCE + ".ModelInfer").toBytes());
      questions.onNext(message().text(3, "inference.proto").toBytes());
      questions.onNext(message().text(4, "inference.Nothing").toBytes());
      questions.onNext(
          message().message(5, message().text(1, "inference.ModelConfig").integer(2, 7)).toBytes());
      questions.onNext(message().text(6, "inference.ModelConfig").toBytes());
      questions.onNext(message().text(1, "nothing").toBytes());
      questions.onCompleted();
      byte[] first = next(answers);
      assertEquals(List.of("here"), field(first, 1));
      assertEquals(List.of("*"), field(bytes(first, 2).getFirst(), 7));
      List<String> services = new ArrayList<>();
      for (byte[] each : bytes(bytes(first, 6).getFirst(), 1)) {
        services.addAll(field(each, 1));
      }
      assertEquals(
          List.of(
              INFERENCE, "grpc.health.v1.Health", V1, "grpc.reflection.v1alpha.ServerReflection"),
          services);
      byte[] bySymbol = bytes(next(answers), 4).getFirst();
      assertArrayEquals(bySymbol, bytes(next(answers), 4).getFirst());
      byte[] unknown = bytes(next(answers), 7).getFirst();
      assertEquals(List.of("5"), field(unknown, 1));
      assertEquals(List.of("there is no symbol inference.Nothing"), field(unknown, 2));
      assertEquals(List.of("5"), field(bytes(next(answers), 7).getFirst(), 1));
      assertEquals(List.of("inference.ModelConfig"), field(bytes(next(answers), 5).getFirst(), 1));
      assertEquals(List.of("3"), field(bytes(next(answers), 7).getFirst(), 1));
      assertEquals(Status.OK, answers.poll(20, TimeUnit.SECONDS));
    }
  }

  @Test
  void definitionsAreThoseThatTheAuthorsOfTheProtocolGenerate() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      FileDescriptor ours = file(running, INFERENCE);
      List<String> wrong = new ArrayList<>();
      for (Descriptor theirs : GrpcPredictV2.getDescriptor().getMessageTypes()) {
        compare(theirs, ours.findMessageTypeByName(theirs.getName()), wrong);
      }
      assertEquals(List.of(), wrong);
      ServiceDescriptor service = ours.findServiceByName("GRPCInferenceService");
      for (MethodDescriptor theirs :
          GrpcPredictV2.getDescriptor().findServiceByName("GRPCInferenceService").getMethods()) {
        MethodDescriptor method = service.findMethodByName(theirs.getName());
        assertNotNull(method, theirs::getName);
        assertEquals(
            theirs.getInputType().getFullName() + theirs.getOutputType().getFullName(),
            method.getInputType().getFullName() + method.getOutputType().getFullName());
      }
    }
  }

  private static void compare(Descriptor theirs, Descriptor ours, List<String> wrong) {
    if (ours == null) {
      wrong.add("no " + theirs.getFullName());
      return;
    }
    for (FieldDescriptor field : theirs.getFields()) {
      FieldDescriptor same = ours.findFieldByNumber(field.getNumber());
      if (same == null || !text(field).equals(text(same))) {
        wrong.add(text(field) + " is " + (same == null ? "missing" : text(same)));
      }
    }
    theirs
        .getNestedTypes()
        .forEach(nested -> compare(nested, ours.findNestedTypeByName(nested.getName()), wrong));
  }

  private static String text(FieldDescriptor field) {
    return field.getFullName()
        + " "
        + field.getType()
        + (field.isRepeated() ? " many" : "")
        + (field.isMapField() ? " map" : "")
        + (field.isPacked() ? " packed" : "")
        + (field.getContainingOneof() == null ? "" : " " + field.getContainingOneof().getName())
        + (field.getType() == FieldDescriptor.Type.MESSAGE
            ? field.getMessageType().getFullName()
            : "");
  }

  @Test
  void everyCallOfTheServerIsDefinedAndAnswered() throws Exception {
    try (RunningServer running = new RunningServer(Map.of())) {
      running.served.load("echo");
      FileDescriptor file = file(running, "inference.ModelMetadataRequest");
      for (MethodDescriptor method : file.findServiceByName("GRPCInferenceService").getMethods()) {
        if (!method.isClientStreaming()) {
          try {
            running.call(method.getName(), new byte[0], CallOptions.DEFAULT);
          } catch (StatusRuntimeException e) {
            // Of a call that is not there, gRPC says that its method is not found.
            assertFalse(e.getMessage().contains("Method not found"), method::getName);
          }
        }
      }
      Descriptor request = file.findMessageTypeByName("ModelMetadataRequest");
      byte[] sent =
          DynamicMessage.newBuilder(request)
              .setField(request.findFieldByName("name"), "echo")
              .build()
              .toByteArray();
      DynamicMessage reply =
          DynamicMessage.parseFrom(
              file.findMessageTypeByName("ModelMetadataResponse"),
              running.call("ModelMetadata", sent, CallOptions.DEFAULT));
      assertTrue(reply.getUnknownFields().asMap().isEmpty(), () -> "fields of " + reply);
      assertEquals(
          "onnx", reply.getField(reply.getDescriptorForType().findFieldByName("platform")));
      FileDescriptor health = file(running, "grpc.health.v1.Health");
      assertEquals("grpc.health.v1", health.getPackage());
      assertTrue(health.findServiceByName("Health").findMethodByName("Watch").isServerStreaming());
    }
  }

  @Test
  void anOpenStreamEndsWithTheServerAndADamagedOneAlone() throws Exception {
    BlockingQueue<Object> open = new LinkedBlockingQueue<>();
    BlockingQueue<Object> damaged = new LinkedBlockingQueue<>();
    try (RunningServer running = new RunningServer(Map.of("stopMillis", 60_000L))) {
      StreamObserver<byte[]> questions = ask(running, V1, open);
      questions.onNext(new MessageWriter().text(7, "").bytes(7, new byte[0]).toBytes());
      next(open);
      ask(running, V1, damaged).onNext(new byte[] {0x3a, 9, 1});
      Status refused = (Status) damaged.poll(20, TimeUnit.SECONDS);
      assertEquals(Status.Code.INVALID_ARGUMENT, refused.getCode());
      running.server.close();
      Status ended = (Status) open.poll(20, TimeUnit.SECONDS);
      assertEquals("the server ends", ended.getDescription());
    }
  }
}
