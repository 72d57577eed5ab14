// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.ResultCode;
import io.thalamus.api.picture.Picture;
import io.thalamus.console.CommandException;
import io.thalamus.memory.HardwareBuffer;
import io.thalamus.memory.HardwareBufferDesc;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.model.Models;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CommandsTest {
  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private final Models models = new Models(networks);
  private final FakeDryRuns trials = new FakeDryRuns();
  private Terminal terminal;

  @BeforeEach
  void open() throws IOException {
    terminal =
        new Terminal(
            folder,
            new DevicesCommand(networks, Map::of),
            new MemCommand(networks),
            new InfoCommand(models),
            new RunCommand(models),
            new PlanCommand(networks, models, trials));
    model("float.tflite", OperandCode.TENSOR_FLOAT32, Quantization.NONE, 1, 2, 2, 3);
    model(
        "quant.tflite",
        OperandCode.TENSOR_QUANT8_ASYMM,
        Quantization.of(1 / 128f, 128),
        1,
        2,
        2,
        3);
    floats(0, Shape.of(1, 4), 0.1f, 0.7f, 0.15f, 0.05f);
    BufferedImage image = new BufferedImage(2, 2, BufferedImage.TYPE_INT_RGB);
    image.setRGB(0, 0, 0x010203);
    image.setRGB(1, 1, 0xFFFEFD);
    ImageIO.write(image, "png", folder.resolve("picture.png").toFile());
  }

  @AfterEach
  void nothingStaysOpen() {
    terminal.close();
    models.close();
    assertEquals(0, networks.open.get());
  }

  private void model(String name, OperandCode type, Quantization quantization, int... shape)
      throws IOException {
    SubgraphBuilder builder = new SubgraphBuilder();
    int in = builder.input("in", type, Shape.of(shape), quantization);
    int mid =
        builder.temporary("mid", OperandCode.TENSOR_FLOAT32, Shape.of(1, 4), Quantization.NONE);
    int out = builder.output("out", OperandCode.TENSOR_FLOAT32, Shape.of(1, 4), Quantization.NONE);
    builder.operation(OperationCode.FULLY_CONNECTED, List.of(in), List.of(mid));
    builder.operation(OperationCode.RELU, List.of(mid), List.of(mid));
    builder.operation(OperationCode.SOFTMAX, List.of(mid), List.of(out));
    put(name, ModelFile.of(Model.of(builder.build()), "Test format"));
  }

  private void put(String name, ModelFile file) throws IOException {
    networks.files.put(name, file);
    Files.writeString(folder.resolve(name), "model");
  }

  private void floats(int output, Shape shape, float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    networks.outputs.put(output, bytes.array());
    networks.outputShapes.put(output, shape);
  }

  private void assertUsage(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }

  private void assertFails(String line, String command) {
    CommandException e = assertThrows(CommandException.class, () -> terminal.type(command));
    assertEquals(line, e.getMessage());
  }

  @Test
  void memoriesAreATable() throws Exception {
    assertEquals("no application has made a memory", terminal.type("nn:mem").toString().strip());
    networks.memories =
        List.of(
            new MemoryInfo(
                "state",
                "com.example.app",
                OperandCode.TENSOR_FLOAT32,
                Shape.of(1, 256),
                1024,
                List.of("npu", MemoryInfo.SHARED),
                "npu",
                List.of("input 0 'state'", "output 1 'next'"),
                MemoryInfo.State.INITIALIZED,
                "",
                true,
                Duration.ofSeconds(125)),
            new MemoryInfo(
                "lost",
                "com.example.app",
                OperandCode.TENSOR_FLOAT32,
                Shape.of(0, 2),
                0,
                List.of(),
                "npu",
                List.of("output 0"),
                MemoryInfo.State.DEAD,
                "the only copy was on npu, which does not give it out",
                false,
                Duration.ofMillis(5)));
    String text = terminal.type("nn:mem");
    assertTrue(text.contains("npu, shared memory"), text);
    assertTrue(text.contains("com.example.app") && text.contains("2 min 5 s"), text);
    assertTrue(text.contains("input 0 'state', output 1 'next'"), text);
    assertTrue(text.contains("(npu)") && text.contains("dead"), text);
    String json = terminal.type("nn:mem --json");
    assertTrue(json.contains("\"name\":\"state\",\"sizeBytes\":1024"), json);
    assertTrue(json.contains("\"state\":\"DEAD\",\"reason\":\"the only copy"), json);
  }

  @Test
  void devicesAreATable() throws Exception {
    networks.devices =
        List.of(
            FakeNetworks.device(
                "simd", 0.25f, DeviceDescription.State.REFUSED, "its name is taken"),
            FakeNetworks.device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
    assertEquals(
        List.of(
            "id    type  version  level  state",
            "simd  CPU   0.1.0    1.3    refused    its name is taken",
            "cpu   CPU   0.1.0    1.3    available"),
        terminal.type("nn:devices").lines().toList());
    String all = terminal.type("nn:devices -v");
    assertTrue(all.contains("  cache              1 model file, 2 data files\n"), all);
    assertTrue(all.contains("  memory             ashmem, mmap_fd\n"), all);
    assertTrue(all.contains("  TENSOR_FLOAT32                 0.25   0.25\n"), all);
    assertFalse(all.contains("WHILE"), all);
  }

  @Test
  void devicesInTroubleSayWhatItIs() throws Exception {
    Instant until = Instant.parse("2026-01-01T12:00:03Z");
    StuckCall stuck =
        new StuckCall(
            "thalamus-call-3", "execute", "io.thalamus.npu 0.1.0 [12]", Duration.ofSeconds(12));
    networks.devices =
        List.of(
            FakeNetworks.device(
                "npu",
                1,
                DeviceDescription.State.QUARANTINED,
                "execute did not return in time",
                new DeviceHealth(
                    7, 2, Optional.of(until), 100, 1, List.of(stuck), Optional.of("execute: why"))),
            FakeNetworks.device("old", 1, DeviceDescription.State.LEAVING, "it waits"),
            FakeNetworks.device(
                "gone",
                1,
                DeviceDescription.State.LEAKED,
                "it has left",
                new DeviceHealth(1, 1, Optional.empty(), 0, 0, List.of(stuck), Optional.empty())));
    String time =
        DateTimeFormatter.ofPattern("HH:mm:ss").format(until.atZone(ZoneId.systemDefault()));
    String thread =
        "thread thalamus-call-3 (in execute for 12.00 s), class loader of"
            + " io.thalamus.npu 0.1.0 [12]";
    assertEquals(
        "id type version level state npu CPU 0.1.0 1.3 quarantined until "
            + time
            + " execute did not return in time; stuck "
            + thread
            + " old CPU 0.1.0 1.3 leaving it waits gone CPU 0.1.0 1.3 leaked it has left; leaked "
            + thread,
        terminal.type("nn:devices").strip().replaceAll("\\s+", " "));
    String all = terminal.type("nn:devices -v");
    assertTrue(all.contains("failures           7 failed calls, in quarantine 2 times\n"), all);
    assertTrue(all.contains("the last failure   execute: why\n"), all);
    assertTrue(all.contains("second opinions    100, of which differ 1\n"), all);
    String json = terminal.type("nn:devices --json");
    assertTrue(
        json.contains(
            "\"health\":{\"failures\":7,\"quarantines\":2,"
                + "\"quarantinedUntil\":\"2026-01-01T12:00:03Z\",\"samples\":100,\"mismatches\":1,"
                + "\"stuckCalls\":[{\"thread\":\"thalamus-call-3\",\"call\":\"execute\","
                + "\"classLoader\":\"io.thalamus.npu 0.1.0 [12]\",\"ageMillis\":12000}],"
                + "\"lastFailure\":\"execute: why\"}"),
        json);
  }

  @Test
  void resultsGoThroughPipesAndTellTheirParts() throws Exception {
    assertEquals("true", terminal.type("(nn:devices -v) verbose").strip());
    assertTrue(terminal.type("nn:devices | test:upper").contains("CPU  CPU   0.1.0"));
    terminal.session.put("nn.color", "true");
    assertTrue(terminal.type("nn:devices").contains("\u001b[1mcpu"));
    terminal.session.put("nn.color", "false");
    assertFalse(terminal.type("nn:devices").contains("\u001b"));
  }

  @Test
  void jsonIsOneLineByOptionOrVariable() throws Exception {
    String line = terminal.type("nn:devices --json");
    assertTrue(line.startsWith("{\"devices\":[{\"id\":\"cpu\",\"name\":\"thalamus-cpu\""), line);
    terminal.session.put("nn.json", true);
    assertEquals(line, terminal.type("nn:devices"));
    assertFalse(line.contains("\n"));
  }

  @Test
  void everyCommandExplainsItself() throws Exception {
    for (String command : List.of("devices", "info", "run", "plan")) {
      String help = terminal.type("nn:" + command + " --help");
      assertTrue(help.startsWith("nn:" + command), help);
      assertTrue(help.contains("--json"), help);
    }
  }

  @Test
  void aPictureIsFedAsTheQuantizedRangeSays() throws Exception {
    String text = terminal.type("nn:run quant.tflite picture.png --top 2");
    byte[] black = {0, 0, 0};
    byte[] fed = networks.inputs.getFirst();
    assertArrayEquals(
        new byte[] {1, 2, 3, black[0], 0, 0, 0, 0, 0, (byte) 0xFF, (byte) 0xFE, (byte) 0xFD}, fed);
    List<String> lines = text.lines().toList();
    assertEquals("class 1  70.0 %  " + "█".repeat(28), lines.get(0));
    assertEquals("class 2  15.0 %  " + "█".repeat(6), lines.get(1));
    assertEquals("", lines.get(2));
    assertTrue(lines.get(3).endsWith(": 3 operations on cpu"), lines.get(3));
    assertEquals(4, lines.size());
  }

  @Test
  void aFloatPictureNeedsMeanAndStd() throws Exception {
    assertUsage(
        "nn:run: the model does not say how in TENSOR_FLOAT32 1x2x2x3 was normalized; give --mean M"
            + " --std S (fed = (value - M) / S)",
        "nn:run float.tflite picture.png");
    terminal.type("nn:run float.tflite picture.png --mean 1 --std 2");
    ByteBuffer fed = ByteBuffer.wrap(networks.inputs.getFirst()).order(ByteOrder.LITTLE_ENDIAN);
    assertEquals(0f, fed.getFloat(0));
    assertEquals(0.5f, fed.getFloat(4));
    assertEquals(127f, fed.getFloat(36));
    terminal.type("nn:run float.tflite picture.png --mean 1,2,3 --std 1,1,1");
    fed = ByteBuffer.wrap(networks.inputs.getFirst()).order(ByteOrder.LITTLE_ENDIAN);
    assertEquals(0f, fed.getFloat(8));
  }

  @Test
  void metadataOfTheFileIsUsed() throws Exception {
    ModelFile plain = networks.files.get("float.tflite");
    put(
        "stated.tflite",
        new ModelFile(
            plain.model(),
            "Test format",
            "a test",
            Map.of(0, new ModelFile.Normalization(0, 255)),
            List.of("ant", "bee", "cat", "dog")));
    String text = terminal.type("nn:run stated.tflite picture.png --top 1");
    assertTrue(text.startsWith("bee  70.0 %"), text);
    assertEquals(
        1f,
        ByteBuffer.wrap(networks.inputs.getFirst()).order(ByteOrder.LITTLE_ENDIAN).getFloat(36));
    String info = terminal.type("nn:info stated.tflite");
    assertTrue(
        info.contains("  normalization: (value - 0) / 255, stated by the model file\n"), info);
  }

  @Test
  void labelsComeFromTheOptionOrStandBesideTheModel() throws Exception {
    Files.writeString(folder.resolve("names.txt"), "a\nb\nc\nd\n");
    Files.writeString(folder.resolve("few.txt"), "a\n");
    String run = "nn:run quant.tflite random:1 --top 1 ";
    assertTrue(terminal.type(run + "--labels names.txt").startsWith("b "));
    assertFails(
        "--labels few.txt: 1 labels, but the model has 4 classes", run + "--labels few.txt");
    assertFails(
        "cannot read " + folder.resolve("no.txt") + ": there is no such file",
        run + "--labels no.txt");
    Files.writeString(folder.resolve("labels.txt"), "w\nx\ny\nz\n");
    assertTrue(terminal.type(run).startsWith("x "));
    Files.writeString(folder.resolve("labels.txt"), "of something else\n");
    assertTrue(terminal.type(run).startsWith("class 1 "));
  }

  @Test
  void scoresThatAreNoProbabilitiesStayWhatTheyAre() throws Exception {
    floats(0, Shape.of(1, 4), -2f, 6f, 2f, Float.NaN);
    List<String> lines = terminal.type("nn:run quant.tflite random:1").lines().toList();
    assertEquals("class 1    6  " + "█".repeat(40), lines.get(0));
    assertEquals("class 2    2  " + "█".repeat(20), lines.get(1));
    assertEquals("class 0   -2", lines.get(2));
    assertEquals("class 3  NaN", lines.get(3).stripTrailing());
  }

  @Test
  void otherOutputsAreSummarized() throws Exception {
    floats(0, Shape.of(2, 2), 1, 2, 3, 6);
    List<String> lines = terminal.type("nn:run quant.tflite random:1").lines().toList();
    assertEquals("output  type            shape  min  max  mean  first", lines.get(0));
    assertEquals("out     TENSOR_FLOAT32  2x2      1    6     3  1 2 3 6", lines.get(1));
  }

  @Test
  void jsonOfARunHoldsOutputsPlacesAndTime() throws Exception {
    String json = terminal.type("nn:run quant.tflite random:1 --top 1 --json");
    assertTrue(
        json.contains(
            "\"outputs\":[{\"name\":\"out\",\"type\":\"TENSOR_FLOAT32\",\"shape\":[1,4],"
                + "\"min\":0.05,\"max\":0.7,\"mean\":0.24999999906867743,"
                + "\"values\":[0.1,0.7,0.15,0.05],\"top\":[{\"index\":1,"
                + "\"score\":0.7}]}],\"ranOn\":{\"cpu\":3},\"millis\":"),
        json);
    assertTrue(json.contains("\"steps\":[{\"device\":\"cpu\",\"operations\":3,\"millis\":"), json);
  }

  @Test
  void whatGaveUpIsTold() throws Exception {
    networks.steps =
        List.of(
            new StepReport("simd", 3, Duration.ofMillis(5), ResultCode.OP_FAILED),
            new StepReport("cpu", 2, Duration.ofMillis(1), ResultCode.NO_ERROR),
            new StepReport("npu", 1, Duration.ofMillis(1), ResultCode.NO_ERROR));
    String text = terminal.type("nn:run quant.tflite random:1");
    assertTrue(
        text.contains("simd gave up 3 operations after 5.00 ms (OP_FAILED); repeated elsewhere\n"),
        text);
    assertTrue(text.endsWith(": 2 operations on cpu, 1 operation on npu"), text);
  }

  @Test
  void outputsAreWrittenOnceEach() throws Exception {
    terminal.type("nn:run quant.tflite random:1 --output out.bin");
    assertArrayEquals(networks.outputs.get(0), Files.readAllBytes(folder.resolve("out.bin")));
    terminal.type("nn:run quant.tflite random:1 --output out.json");
    assertEquals("[[0.1,0.7,0.15,0.05]]\n", Files.readString(folder.resolve("out.json")));
    CommandException e =
        assertThrows(
            CommandException.class,
            () -> terminal.type("nn:run quant.tflite random:1 --output a.bin --output b.bin"));
    assertTrue(
        e.getMessage()
            .startsWith(
                "nn:run: the model has 1 outputs; give --output once for each, not 2 times;"),
        e.getMessage());
    assertFalse(Files.exists(folder.resolve("a.bin")));
    assertThrows(
        CommandException.class, () -> terminal.type("nn:run quant.tflite random:1 --output a.txt"));
  }

  @Test
  void outputsOfUnknownSizeAreAskedForAgain() throws Exception {
    SubgraphBuilder builder = new SubgraphBuilder();
    int in = builder.input("in", OperandCode.TENSOR_FLOAT32, Shape.of(0, 2), Quantization.NONE);
    int out = builder.output("out", OperandCode.TENSOR_FLOAT32, Shape.NONE, Quantization.NONE);
    builder.operation(OperationCode.RELU, List.of(in), List.of(out));
    put("open.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    floats(0, Shape.of(20, 1000), new float[20_000]);
    Files.write(folder.resolve("in.bin"), new byte[24]);
    terminal.type("nn:run open.tflite in.bin --output out.bin");
    assertEquals(80_000, Files.size(folder.resolve("out.bin")));
    assertEquals(List.of(Shape.of(3, 2)), networks.inputShapes);
    assertEquals(2, networks.executions);
  }

  @Test
  void optionsReachTheRuntime() throws Exception {
    terminal.type(
        "nn:run quant.tflite random:1 --device cpu --priority high --preference low-power"
            + " --deadline 1.5 --repeat 3");
    assertEquals(List.of("cpu"), networks.compiled.getFirst().devices());
    assertEquals(Priority.HIGH, networks.compiled.getFirst().priority());
    assertEquals(ExecutionPreference.LOW_POWER, networks.compiled.getFirst().preference());
    assertEquals(Duration.ofNanos(1_500_000), networks.timeout);
    assertEquals(3, networks.executions);
    assertFails("no device npu is here", "nn:run quant.tflite random:1 --device npu");
  }

  @Test
  void wrongNumbersOfInputsAreUsage() {
    CommandException none =
        assertThrows(CommandException.class, () -> terminal.type("nn:run quant.tflite"));
    assertTrue(
        none.getMessage()
            .startsWith(
                "nn:run: the model has 1 input (in TENSOR_QUANT8_ASYMM 1x2x2x3), none given;"),
        none.getMessage());
    CommandException two =
        assertThrows(
            CommandException.class, () -> terminal.type("nn:run quant.tflite a.png b.png"));
    assertTrue(two.getMessage().contains(", 2 given; usage: nn:run MODEL"), two.getMessage());
    assertThrows(CommandException.class, () -> terminal.type("nn:run"));
    assertThrows(CommandException.class, () -> terminal.type("nn:run quant.tflite random:x"));
    assertThrows(
        CommandException.class, () -> terminal.type("nn:run quant.tflite random:1 --mean 1"));
    assertThrows(
        CommandException.class,
        () -> terminal.type("nn:run quant.tflite picture.png --mean 1 --std 0"));
    assertThrows(
        CommandException.class,
        () -> terminal.type("nn:run quant.tflite picture.png --mean 1,2 --std 1"));
  }

  @Test
  void badFilesAreOneLineEach() throws Exception {
    assertFails("cannot load no.tflite", "nn:run no.tflite random:1");
    assertFails("the name of a file or folder is empty", "nn:run '' random:1");
    Path directory = Files.createDirectory(folder.resolve("directory"));
    assertFails(directory + " is a directory, not a model file", "nn:run directory random:1");
    Files.write(folder.resolve("in.bin"), new byte[11]);
    assertFails(
        "in.bin holds 11 bytes, but in TENSOR_QUANT8_ASYMM 1x2x2x3 takes 12",
        "nn:run quant.tflite in.bin");
    model("flat.tflite", OperandCode.TENSOR_FLOAT32, Quantization.NONE, 1, 12);
    assertFails(
        "picture.png is a picture, but in TENSOR_FLOAT32 1x12 takes none; give .npy, .bin, .json or"
            + " random:SEED",
        "nn:run flat.tflite picture.png");
    model("any.tflite", OperandCode.TENSOR_QUANT8_ASYMM, Quantization.of(1, 0), 1, 0, 0, 3);
    assertFails(
        "the model leaves the size of its pictures open (in TENSOR_QUANT8_ASYMM 1x?x?x3); give the"
            + " input as .npy",
        "nn:run any.tflite picture.png");
  }

  @Test
  void aFailedExecutionTellsItsCode() {
    networks.failure =
        ExecutionReport.failed(ResultCode.MISSED_DEADLINE_TRANSIENT, "too slow today");
    assertFails(
        "MISSED_DEADLINE_TRANSIENT: too slow today", "nn:run quant.tflite random:1 --deadline 1");
    networks.failure =
        ExecutionReport.failed(
            ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
            "too many wait",
            Optional.of(Duration.ofMillis(12)));
    assertFails(
        "RESOURCE_EXHAUSTED_TRANSIENT: too many wait; try again in 12.00 ms",
        "nn:run quant.tflite random:1");
  }

  @Test
  void infoTellsWhatAModelIs() throws Exception {
    List<String> lines = terminal.type("nn:info quant.tflite").lines().toList();
    assertEquals(folder.resolve("quant.tflite").toString(), lines.get(0));
    assertTrue(lines.contains("  format     Test format"), lines.toString());
    assertTrue(lines.contains("1 input"));
    assertTrue(
        lines.contains("  0  in  TENSOR_QUANT8_ASYMM  1x2x2x3  scale 0.007813, zero point 128"),
        lines.toString());
    assertTrue(
        lines.contains(
            "  normalization: (value - 128) / 128, bytes as they are: the quantized input's real"
                + " range is -1 to 0.9922"),
        lines.toString());
    assertTrue(lines.contains("3 operations"));
    String floats = terminal.type("nn:info float.tflite");
    assertTrue(
        floats.contains(
            "  normalization: unknown; pictures need --mean M --std S, fed = (value - M) / S"),
        floats);
    String json = terminal.type("nn:info quant.tflite --json");
    assertTrue(
        json.contains("\"operations\":{\"FULLY_CONNECTED\":1,\"RELU\":1,\"SOFTMAX\":1}"), json);
  }

  @Test
  void planShowsStepsAndCosts() throws Exception {
    List<String> lines = terminal.type("nn:plan quant.tflite").lines().toList();
    assertEquals("3 operations in 1 step, policy greedy, 0 B between steps", lines.get(0));
    assertEquals("step  device  in          out          operations", lines.get(2));
    assertEquals(
        "   1  cpu     input 12 B  output 40 B  0-2: FULLY_CONNECTED, RELU, SOFTMAX", lines.get(3));
    assertEquals("cost of  device  cpu  operations", lines.get(5));
    assertEquals("0-2      cpu       1  FULLY_CONNECTED, RELU, SOFTMAX", lines.get(6));
    String json = terminal.type("nn:plan quant.tflite --json");
    assertTrue(json.contains("\"steps\":[{\"device\":\"cpu\",\"subgraph\":0"), json);
  }

  @Test
  void planAsksWhatIf() throws Exception {
    networks.devices =
        List.of(
            FakeNetworks.device("simd", 1, DeviceDescription.State.AVAILABLE, ""),
            FakeNetworks.device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
    terminal.type("nn:plan quant.tflite --what-if -simd");
    assertEquals(List.of("cpu"), networks.planned.getLast().devices());
    terminal.type("nn:plan quant.tflite --device simd --what-if '+cpu,-simd'");
    assertEquals(List.of("cpu"), networks.planned.getLast().devices());
    assertFails(
        "--what-if -npu: no device npu serves; there are: simd, cpu",
        "nn:plan quant.tflite --what-if -npu");
    assertThrows(CommandException.class, () -> terminal.type("nn:plan quant.tflite --what-if cpu"));
    assertThrows(
        CommandException.class, () -> terminal.type("nn:plan quant.tflite --what-if '-cpu,-simd'"));
    networks.devices = List.of();
    assertFails(
        "--what-if -npu: no device npu serves; none is here, nn:install adds one",
        "nn:plan quant.tflite --what-if -npu");
  }

  @Test
  void planAsksDevicesThatAreNotInstalled() throws Exception {
    networks.devices =
        List.of(FakeNetworks.device("cpu", 1, DeviceDescription.State.AVAILABLE, ""));
    trials.available.add("npu");
    terminal.type("nn:plan quant.tflite --what-if '+npu,-cpu'");
    assertEquals(List.of("npu"), networks.planned.getLast().devices());
    assertFails("no device gpu", "nn:plan quant.tflite --what-if '+npu,+gpu'");
    assertEquals(List.of("+npu", "-npu", "+npu", "-npu"), trials.events);
  }

  @Test
  void widePicturesFit() {
    Picture picture = Picture.of(4, 1, new int[] {0, 0, 0xFFFFFF, 0xFFFFFF}).resize(2, 1);
    assertEquals(2, picture.width());
  }

  @Test
  void aFrameOfAHardwareBufferIsAnInput() throws Exception {
    byte[] pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1};
    try (HardwareBuffer frame = HardwareBuffer.allocate(HardwareBufferDesc.blob(pixels.length));
        HardwareBuffer small = HardwareBuffer.allocate(HardwareBufferDesc.blob(5))) {
      MemorySegment.copy(pixels, 0, frame.memory().segment(), ValueLayout.JAVA_BYTE, 0, 12);
      terminal.type("nn:run quant.tflite '" + frame.describe().text() + "'");
      assertArrayEquals(pixels, networks.inputs.getFirst());
      assertEquals(1, networks.inputsInPlace);
      String wrong = "nn:run quant.tflite '" + small.describe().text() + "'";
      assertThrows(Exception.class, () -> terminal.type(wrong));
      frame.lock(HardwareBuffer.Access.WRITE, Duration.ZERO).orElseThrow().close();
    }
    assertFails(
        "the hardware buffer cannot be read: not the handle of a hardware buffer:"
            + " hardware_buffer/1 2",
        "nn:run quant.tflite 'hardware_buffer/1 2'");
  }
}
