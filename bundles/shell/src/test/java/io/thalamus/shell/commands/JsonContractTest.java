// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceHealth;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.api.ExecutionReport.Durations;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.Plan;
import io.thalamus.api.Prediction;
import io.thalamus.api.Prediction.Estimate;
import io.thalamus.api.Prediction.StepEstimate;
import io.thalamus.api.ResultCode;
import io.thalamus.console.CommandException;
import io.thalamus.console.Json;
import io.thalamus.console.text.Style;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.shell.doctor.Diagnostics;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.results.BundleResult;
import io.thalamus.shell.results.DoctorResult;
import io.thalamus.shell.results.PlanResult;
import io.thalamus.shell.session.Kept;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The names of all fields in the JSON of every command, in their order: programs rely on them. A
 * field may be added; none may go, move or be renamed.
 */
class JsonContractTest {
  private static final String ENTRY =
      "name,model,part,device,version,files,sizeBytes,lastUsed,isBeingWritten";
  private static final String PERFORMANCE = "{execTime,powerUsage}";
  private static final String FIGURES =
      "device,cold,threads,medianMillis,p90Millis,p99Millis,throughput,coldCompileMillis,"
          + "warmCompileMillis,argumentsInBytes,argumentsOutBytes,deviceInBytes,deviceOutBytes,"
          + "temporariesBytes";

  @TempDir Path folder;

  private final FakeNetworks networks = new FakeNetworks();
  private final FakeCache cache = new FakeCache();
  private final Models models = new Models(networks);
  private Terminal terminal;

  @BeforeEach
  void open() throws IOException {
    terminal =
        new Terminal(
            folder,
            new DevicesCommand(networks, Map::of),
            new MemCommand(networks),
            new InfoCommand(models),
            new ExportCommand(models),
            new RunCommand(models),
            new PlanCommand(networks, models, new FakeDryRuns()),
            new MeasureCommand(networks, models),
            new BenchCommand(null, networks, models, cache),
            new BurstCommand(networks, models),
            new CacheCommand(cache, models),
            new ModelsCommand(models, Kept.in(folder)),
            new VerifyCommand(networks));
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_QUANT8_ASYMM;
    Quantization unit = Quantization.of(1 / 128f, 128);
    int in = builder.input("in", type, Shape.of(1, 2, 2, 3), unit);
    int out = builder.output("out", type, Shape.of(1, 4), unit);
    builder.operation(OperationCode.RELU, List.of(in), List.of(out));
    networks.files.put(
        "m.tflite",
        new ModelFile(
            Model.of(builder.build()), "Test format", "", Map.of(), List.of("a", "b", "c", "d")));
    networks.outputs.put(0, new byte[4]);
    networks.outputShapes.put(0, Shape.of(1, 4));
    Files.writeString(folder.resolve("m.tflite"), "content");
  }

  @AfterEach
  void close() {
    terminal.close();
    models.close();
  }

  private void assertFields(String expected, String command) throws Exception {
    assertEquals(expected, fields(terminal.type(command + " --json")), command);
  }

  /** Returns the names in braces; those of an array are the names that its elements have. */
  private static String fields(String line) throws IOException {
    try (JsonParser parser = new JsonFactory().createParser(line)) {
      return fields(parser, parser.nextToken());
    }
  }

  private static String fields(JsonParser parser, JsonToken token) throws IOException {
    if (token == JsonToken.START_ARRAY) {
      Set<String> elements = new LinkedHashSet<>();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        elements.add(fields(parser, parser.currentToken()));
      }
      return "[" + String.join("|", elements) + "]";
    }
    if (token == JsonToken.START_OBJECT) {
      List<String> members = new ArrayList<>();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        members.add(parser.currentName() + fields(parser, parser.nextToken()));
      }
      return "{" + String.join(",", members) + "}";
    }
    return "";
  }

  @Test
  void devices() throws Exception {
    DeviceHealth health =
        new DeviceHealth(
            1,
            1,
            Optional.of(Instant.EPOCH),
            2,
            1,
            List.of(new StuckCall("t", "execute", "l", Duration.ofSeconds(1))),
            Optional.of("execute: it broke"));
    String before =
        "id,name,type,version,featureLevel,featureLevelNumber,state,reason,"
            + "health{failures,quarantines,";
    String after =
        "exactQuantized,modelCacheFiles,dataCacheFiles,cacheSharedByPriorities,memoryKinds[],"
            + "memoryDomain,extensions[],capabilities{TENSOR_FLOAT32"
            + PERFORMANCE
            + ",TENSOR_QUANT8_ASYMM"
            + PERFORMANCE
            + ",relaxedFloat32toFloat16Tensor"
            + PERFORMANCE
            + ",relaxedFloat32toFloat16Scalar"
            + PERFORMANCE
            + ",IF"
            + PERFORMANCE
            + ",WHILE"
            + PERFORMANCE
            + "}";
    assertFields(
        "{devices[{" + before + "samples,mismatches,stuckCalls[]}," + after + "}]}", "nn:devices");
    networks.devices =
        List.of(FakeNetworks.device("npu", 1, DeviceDescription.State.QUARANTINED, "slow", health));
    assertFields(
        "{devices[{"
            + before
            + "quarantinedUntil,samples,mismatches,stuckCalls[{thread,call,classLoader,ageMillis}],lastFailure},"
            + after
            + "}]}",
        "nn:devices");
  }

  @Test
  void memories() throws Exception {
    assertFields("{memories[]}", "nn:mem");
    networks.memories =
        List.of(
            new MemoryInfo(
                "state",
                "com.example.app",
                OperandCode.TENSOR_FLOAT32,
                Shape.of(1, 256),
                1024,
                List.of("npu"),
                "npu",
                List.of("input 0"),
                MemoryInfo.State.INITIALIZED,
                "",
                true,
                Duration.ofSeconds(125)));
    assertFields(
        "{memories[{name,sizeBytes,type,shape[],places[],home,roles[],state,reason,"
            + "owner,ageMillis,shadowed}]}",
        "nn:mem");
  }

  @Test
  void models() throws Exception {
    assertFields("{models[]}", "nn:models");
    String loaded = "{models[{name,file,format,operations,compilations[],cache}]}";
    assertFields(loaded, "nn:load m.tflite --name m");
    terminal.type("nn:run m random:1");
    assertFields("{models[{name,file,format,operations,compilations[{cpu}],cache}]}", "nn:models");
    assertFields("{models[]}", "nn:unload m");
  }

  @Test
  void info() throws Exception {
    assertFields(
        "{model,format,description,labels,signatures[],constants,constantBytes,macs,macsComplete,graphs,"
            + "inputs[{name,type,shape[],scale,zeroPoint,normalization{mean,std,reason}}],"
            + "outputs[{name,type,shape[],scale,zeroPoint}],operations{RELU},macsByOperation{}}",
        "nn:info m.tflite");
  }

  @Test
  void export() throws Exception {
    assertFields("{model,file,constantBytes,operations}", "nn:export m.tflite m.json");
    byte[] weights = new byte[1 << 17];
    SubgraphBuilder builder = new SubgraphBuilder();
    OperandCode type = OperandCode.TENSOR_INT32;
    Shape shape = Shape.of(1 << 15);
    int constant = builder.constant("", type, shape, Quantization.NONE, new ConstantCopy(weights));
    int out = builder.output("out", type, shape, Quantization.NONE);
    builder.operation(OperationCode.ABS, List.of(constant), List.of(out));
    networks.files.put("large.tflite", ModelFile.of(Model.of(builder.build()), "Test format"));
    Files.writeString(folder.resolve("large.tflite"), "content");
    assertFields("{model,file,constants,constantBytes,operations}", "nn:export large.tflite .");
  }

  @Test
  void run() throws Exception {
    String step = "{device,operations,millis,code,byBurst,fenced}";
    String outputs =
        "{model,outputs[{name,type,shape[],scale,zeroPoint,min,max,mean,values[],"
            + "top[{index,label,score}]}],ranOn{cpu},";
    assertFields(outputs + "millis,cold,steps[" + step + "]}", "nn:run m.tflite random:1");
    networks.steps =
        List.of(
            new StepReport("simd", 1, Duration.ofMillis(5), ResultCode.OP_FAILED),
            new StepReport("cpu", 1, Duration.ofMillis(1), ResultCode.NO_ERROR));
    networks.caching = List.of(new CacheOutcome("cpu", 1, CacheOutcome.Origin.RESTORED));
    assertFields(
        outputs
            + "givenUp[{device,operations,code}],millis,cold,times,fastestMillis,caching,steps["
            + step
            + "]}",
        "nn:run m.tflite random:1 --repeat 2 --cache c");
    networks.caching = List.of();
    Optional<Duration> time = Optional.of(Duration.ofMillis(1));
    networks.steps =
        List.of(
            new StepReport(
                "cpu",
                1,
                Duration.ofMillis(1),
                ResultCode.NO_ERROR,
                false,
                true,
                Optional.of(new Durations(Optional.empty(), time, Optional.empty(), time))));
    assertFields(
        outputs
            + "millis,cold,steps["
            + step.replace("}", ",durations{inDriverMillis,fencedInDriverMillis}}]}"),
        "nn:run m.tflite random:1");
  }

  @Test
  void bench() throws Exception {
    String bench = "nn:bench m.tflite --seconds 0.01 ";
    assertFields("{model," + FIGURES + ",executions}", bench);
    networks.caching = List.of(new CacheOutcome("cpu", 1, CacheOutcome.Origin.STORED));
    assertFields(
        "{model,"
            + FIGURES
            + ",warmCompile,executions,vs{"
            + FIGURES.replace("device,cold", "device,policy,cold")
            + ",warmCompile,executions},ratio}",
        bench + "--vs-policy greedy --cache c");
  }

  @Test
  void burst() throws Exception {
    assertFields(
        "{model,device,seconds,executions,throughput,medianMillis,p90Millis,p99Millis,p999Millis,"
            + "worstMillis,sent,fallbacks}",
        "nn:burst m.tflite --seconds 0.01");
    assertFields(
        "{model,device,rate,seconds,executions,throughput,medianMillis,p90Millis,p99Millis,"
            + "p999Millis,worstMillis,sent,fallbacks}",
        "nn:burst m.tflite --seconds 0.01 --rate 1000");
  }

  @Test
  void plan() throws Exception {
    String value = "{operand,name,bytes}";
    String plan =
        "{model,policy,crossingBytes,remarks[],steps[{device,subgraph,operations[],inputs["
            + value
            + "],outputs["
            + value
            + "]}],operations[{subgraph,index,type,device,costs{cpu}}]}";
    assertFields(plan, "nn:plan m.tflite");
    assertFields(plan, "nn:measure m.tflite --seconds 0.01");
    Plan bare = networks.plan(networks.files.get("m.tflite").model(), null);
    Prediction prediction =
        new Prediction(
            List.of(Map.of("cpu", new Estimate(50_000, true))),
            List.of(new StepEstimate(1, 2, 3, true)),
            OptionalDouble.of(0.5),
            List.of("note"));
    PlanResult result =
        new PlanResult(
            "m",
            new Plan(bare.policy(), bare.operations(), bare.steps(), prediction),
            false,
            Style.PLAIN);
    assertEquals(
        "{model,policy,crossingBytes,expectedMillis,measured,energy,remarks[],"
            + "steps[{device,subgraph,operations[],inputs["
            + value
            + "],outputs["
            + value
            + "],startMillis,boundaryMillis,operationMillis,measured}],"
            + "operations[{subgraph,index,type,device,costs{cpu},"
            + "expected{cpu{millis,measured}}}]}",
        fields(Json.line(result.data())));
  }

  @Test
  void cache() throws Exception {
    Entry entry = new Entry("n", "l", "p", "cpu", "1", 2, 2048, Instant.EPOCH, false);
    assertFields("{directory,entries[],obstacles[],looks[]}", "nn:cache ls c");
    cache.entries.add(entry);
    cache.looks.add(new Looks("cpu", 1, 2, 3, 4));
    assertFields(
        "{directory,entries[{"
            + ENTRY
            + "}],obstacles[],looks[{device,hits,misses,refused,unavailable}]}",
        "nn:cache ls c");
    cache.checks.add(new Check(entry, Check.State.GOOD, ""));
    assertFields("{directory,entries[{" + ENTRY + ",state,reason}]}", "nn:cache verify c");
    assertFields("{directory,removed,removedBytes,left,leftBytes}", "nn:cache gc c");
    cache.forecasts.add(new Forecast("RELU", "cpu", true, List.of("r")));
    assertFields("{model,steps[{device,part,isStored,reasons[]}]}", "nn:cache why m.tflite c");
  }

  @Test
  void verify() throws Exception {
    Files.createDirectories(folder.resolve("v/V1_0"));
    Files.writeString(
        folder.resolve("v/V1_0/relu.json"),
        VerifyCommandTest.EXAMPLE.replace("NAME", "a").replace("EXPECTED", "5"));
    networks.outputs.put(0, new byte[8]);
    networks.outputShapes.put(0, Shape.of(2));
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v --json"));
    assertEquals(
        "{target,passed,failed,skipped,millis,failures[{file,example,reason}],skipReasons{}}",
        fields(terminal.printed()));
    assertThrows(CommandException.class, () -> terminal.type("nn:verify v --cache c --json"));
    assertEquals(
        "{target,passed,failed,skipped,steps,restoredSteps,millis,"
            + "failures[{file,example,reason}],skipReasons{}}",
        fields(terminal.printed()));
  }

  @Test
  void bundles() throws Exception {
    BundleResult result =
        new BundleResult(
            "installed",
            "io.thalamus.simd",
            "1",
            List.of("cpu"),
            List.of(new BundleResult.Move("m", Map.of("cpu", 1), Map.of("simd", 1))),
            Duration.ofMillis(1),
            Style.PLAIN);
    assertEquals(
        "{done,bundle,version,devices[],moves[{model,from{cpu},to{simd}}],millis}",
        fields(Json.line(result.data())));
  }

  @Test
  void doctor() throws Exception {
    DoctorResult result =
        new DoctorResult(
            List.of(new Diagnostics.Finding("JDK", Diagnostics.Verdict.GOOD, "25", "")),
            Style.PLAIN);
    assertEquals(
        "{findings[{subject,verdict,observation,remedy}]}", fields(Json.line(result.data())));
  }

  @Test
  void help() throws Exception {
    assertFields("{usage}", "nn:devices --help");
  }
}
