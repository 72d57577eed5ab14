// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.runtime.compilation.Compiler;
import io.thalamus.runtime.domain.MemoryDomains;
import io.thalamus.runtime.events.CompilationLabel;
import io.thalamus.runtime.registry.DeviceRegistry;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.osgi.service.component.ComponentContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ServiceScope;

/**
 * The entrance for one bundle. Thread-safe. Objects that the bundle opened here and did not close
 * are closed when the bundle gives the service back, at the latest when it stops.
 */
@Component(service = NeuralNetworks.class, scope = ServiceScope.BUNDLE)
public final class NeuralNetworksComponent implements NeuralNetworks, AutoCloseable {
  private final DeviceRegistry registry;
  private final Compiler compiler;
  private final ModelLoader loader;
  private final MemoryDomains domains;
  private final String application;
  private final Set<Memory> memories = ConcurrentHashMap.newKeySet();
  private final Set<Compilation> compilations = ConcurrentHashMap.newKeySet();
  private final Set<LoadedModel> models = ConcurrentHashMap.newKeySet();

  /** Called by the component runtime, once for each bundle that asks. */
  @Activate
  public NeuralNetworksComponent(
      @Reference DeviceRegistry registry,
      @Reference Compiler compiler,
      @Reference ModelLoader loader,
      @Reference MemoryDomains domains,
      ComponentContext context) {
    this(registry, compiler, loader, domains, context.getUsingBundle().getSymbolicName());
  }

  /** An entrance for an application of this name. */
  public NeuralNetworksComponent(
      DeviceRegistry registry,
      Compiler compiler,
      ModelLoader loader,
      MemoryDomains domains,
      String application) {
    this.application = application;
    this.registry = registry;
    this.compiler = compiler;
    this.loader = loader;
    this.domains = domains;
  }

  @Override
  public List<DeviceDescription> devices() {
    return registry.descriptions();
  }

  @Override
  public LoadedModel load(Path file, ReadOptions options) throws NeuralNetworksException {
    return loader.load(
        Objects.requireNonNull(file, "file"), Objects.requireNonNull(options, "options"), models);
  }

  @Override
  public LoadedModel load(String name, MemorySegment bytes, ReadOptions options)
      throws NeuralNetworksException {
    return loader.load(
        Objects.requireNonNull(name, "name"),
        Objects.requireNonNull(bytes, "bytes"),
        Objects.requireNonNull(options, "options"),
        models);
  }

  @Override
  public BitSet supportedOperations(Model model, List<String> devices)
      throws NeuralNetworksException {
    return compiler.supportedOperations(Objects.requireNonNull(model, "model"), devices);
  }

  @Override
  public Plan plan(Model model, CompilationOptions options) throws NeuralNetworksException {
    return compiler.plan(
        Objects.requireNonNull(model, "model"), Objects.requireNonNull(options, "options"));
  }

  @Override
  public List<String> policies() {
    return compiler.policies();
  }

  @Override
  public Plan measure(Model model, CompilationOptions options, Duration patience)
      throws NeuralNetworksException {
    return compiler.measure(
        Objects.requireNonNull(model, "model"),
        Objects.requireNonNull(options, "options"),
        Objects.requireNonNull(patience, "patience"));
  }

  @Override
  public Compilation compile(Model model, CompilationOptions options)
      throws NeuralNetworksException {
    Compilation compilation =
        compiler.compile(
            Objects.requireNonNull(model, "model"),
            Objects.requireNonNull(options, "options"),
            new CompilationLabel(
                application, options.client().orElse(""), name(model), options.priority()),
            compilations::remove);
    compilations.add(compilation);
    return compilation;
  }

  /** Returns the file of a model that was loaded here, or what its graph begins with. */
  private String name(Model model) {
    for (LoadedModel loaded : models) {
      if (loaded.model() == model) {
        return String.valueOf(loaded.path().getFileName());
      }
    }
    List<Operation> operations = model.main().operations();
    return operations.isEmpty()
        ? "a model without operations"
        : operations.getFirst().type().text() + " and " + (operations.size() - 1) + " more";
  }

  @Override
  public Memory createMemory(MemoryDesc desc) throws NeuralNetworksException {
    Memory memory =
        domains.create(Objects.requireNonNull(desc, "desc"), application, memories::remove);
    memories.add(memory);
    return memory;
  }

  @Override
  public List<MemoryInfo> memories() {
    return domains.descriptions();
  }

  @Deactivate
  @Override
  public void close() {
    List<MemoryInfo> left = memories.stream().map(Memory::describe).toList();
    if (!left.isEmpty()) {
      System.getLogger(NeuralNetworksComponent.class.getPackageName())
          .log(
              Level.WARNING,
              "{0} has ended without closing {1}, which are closed now",
              application,
              left.stream()
                  .map(memory -> "memory '%s' (%,d bytes)".formatted(memory.name(), memory.bytes()))
                  .sorted()
                  .collect(Collectors.joining(", ")));
    }
    memories.forEach(Memory::close);
    compilations.forEach(Compilation::close);
    models.forEach(LoadedModel::close);
  }
}
