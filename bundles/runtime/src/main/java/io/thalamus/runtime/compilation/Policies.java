// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.policy.PartitionPolicy;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;
import org.osgi.service.metatype.annotations.AttributeDefinition;
import org.osgi.service.metatype.annotations.Designate;
import org.osgi.service.metatype.annotations.ObjectClassDefinition;

/** The policies that are present, and the configured one. Thread-safe. */
@Component(service = Policies.class, configurationPid = "io.thalamus.runtime.partitioning")
@Designate(ocd = Policies.Settings.class)
public final class Policies {
  private final List<PartitionPolicy> policies = new CopyOnWriteArrayList<>();
  private final List<Consumer<String>> listeners = new CopyOnWriteArrayList<>();
  private final PartitionPolicy nnapi = new NnapiPolicy();
  private volatile String configured;

  /** The configuration of the partitioning. */
  @ObjectClassDefinition(
      name = "Thalamus partitioning",
      description = "Which device gets which operation")
  public @interface Settings {
    @AttributeDefinition(
        name = "Policy",
        description = "The name of the policy that decides if a compilation asks for none")
    String policy() default NnapiPolicy.NAME;
  }

  /**
   * The policy that decides.
   *
   * @param remark why it is another than was asked for; empty where it is not
   */
  record Choice(PartitionPolicy policy, String remark) {}

  @Activate
  public Policies(Settings settings) {
    this(settings.policy());
  }

  /** With the policy of this name configured. */
  public Policies(String configured) {
    this.configured = configured;
  }

  /** Another policy decides from now on, of what is compiled anew. */
  @Modified
  public void modified(Settings changed) {
    configured = changed.policy();
  }

  /** A policy has come. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addPolicy(PartitionPolicy policy) {
    policies.add(policy);
    listeners.forEach(listener -> listener.accept(policy.name()));
  }

  /** A policy goes. */
  public void removePolicy(PartitionPolicy policy) {
    policies.remove(policy);
    listeners.forEach(listener -> listener.accept(policy.name()));
  }

  /** Adds a listener, which gets the name of each policy that comes or goes. */
  void addListener(Consumer<String> listener) {
    listeners.add(listener);
  }

  /** Removes a listener. */
  void removeListener(Consumer<String> listener) {
    listeners.remove(listener);
  }

  /** Returns the names of the present policies, sorted. */
  public List<String> names() {
    return Stream.concat(Stream.of(nnapi), policies.stream())
        .map(PartitionPolicy::name)
        .distinct()
        .sorted()
        .toList();
  }

  /** Returns the name of the policy that is to decide. */
  String name(CompilationOptions options) {
    return options.policy().orElse(configured);
  }

  /**
   * Refuses a policy that is asked for by name and not here.
   *
   * @throws NeuralNetworksException with BAD_DATA
   */
  void check(CompilationOptions options) throws NeuralNetworksException {
    if (options.policy().isPresent() && !names().contains(options.policy().get())) {
      throw NeuralNetworksException.badData(
          "no partition policy '%s' is here; there are: %s"
              .formatted(options.policy().get(), String.join(", ", names())));
    }
  }

  /** Returns the requested policy, else the configured one; NNAPI's when that is missing. */
  Choice choose(CompilationOptions options) {
    String name = name(options);
    for (PartitionPolicy policy : policies) {
      if (policy.name().equals(name)) {
        return new Choice(policy, "");
      }
    }
    if (name.equals(NnapiPolicy.NAME)) {
      return new Choice(nnapi, "");
    }
    String remark = "the partition policy " + name + " is not here; nnapi decided";
    Compiler.log().log(Level.WARNING, remark);
    return new Choice(nnapi, remark);
  }

  /** Returns the policy that decides when all others fail. */
  PartitionPolicy nnapi() {
    return nnapi;
  }
}
