// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.Syntax;
import io.thalamus.console.settings.DeclaredSettings;
import io.thalamus.console.settings.Setting;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.ResidentModel;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.apache.felix.service.command.Function;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * The commands that the interactive shell's profile calls: they register what Tab offers, and offer
 * words for a place on the line. The scope keeps them out of what Tab offers for a command.
 * Thread-safe.
 *
 * <p>Everything comes from the {@link Syntax} of the commands that are here, in any bundle.
 */
@Component(
    service = CompletionCommand.class,
    property = {
      "osgi.command.scope=_nn",
      "osgi.command.function=complete",
      "osgi.command.function=candidates"
    })
public final class CompletionCommand {
  /** JLine's own command that registers what Tab offers. */
  private static final String COMPLETE = "gogo:complete";

  /** JLine's own command for the files that the word on the line may go on to. */
  private static final String FILES = "__files";

  private final NeuralNetworks networks;
  private final Models models;
  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public CompletionCommand(
      @Reference NeuralNetworks networks, @Reference Models models, BundleContext context) {
    this.networks = networks;
    this.models = models;
    this.context = context;
  }

  /** Registers the options of all commands with JLine. */
  @Descriptor("registers what Tab offers behind the commands")
  public void complete(CommandSession session) throws Exception {
    if (session.get(COMPLETE) instanceof Function register) {
      for (Command command : HelpCommand.commands(context)) {
        for (List<Object> words : completions(command)) {
          register.execute(session, words);
        }
      }
    }
  }

  /** Returns the arguments of JLine's command for each option of a component's commands. */
  static List<List<Object>> completions(Command component) {
    List<List<Object>> completions = new ArrayList<>();
    for (Syntax syntax : component.syntaxes()) {
      String command = syntax.command();
      completions.add(List.of("-c", command, "-e"));
      completions.add(List.of("-c", command, "-d", component.description(syntax)));
      for (Syntax.Option option : syntax.options()) {
        List<Object> words = new ArrayList<>(List.of("-c", command));
        if (option.letter() != null) {
          words.addAll(List.of("-s", option.letter()));
        }
        words.addAll(List.of("-l", option.name(), "-d", option.description()));
        completions.add(words);
      }
      completions.add(List.of("-c", command, "-a", "__nn_candidates"));
    }
    return completions;
  }

  /** Returns the words that Tab offers for a place on the line. */
  @Descriptor("the words that Tab offers for a place on the line")
  public List<Object> candidates(
      CommandSession session,
      @Descriptor("the words of the line") List<?> words,
      @Descriptor("the index of the word to complete") int index)
      throws Exception {
    String name = words.get(0).toString();
    for (Command command : HelpCommand.commands(context)) {
      for (Syntax syntax : command.syntaxes()) {
        if (syntax.command().equals(name) || syntax.command().equals("nn:" + name)) {
          List<String> before = words.subList(1, index).stream().map(String::valueOf).toList();
          return words(syntax.candidates(before), session);
        }
      }
    }
    return List.of();
  }

  private List<Object> words(Candidates candidates, CommandSession session) throws Exception {
    List<Object> words = new ArrayList<>(candidates.words());
    for (Kind kind : candidates.kinds()) {
      words.addAll(
          switch (kind) {
            case FILES -> session.execute(FILES) instanceof Collection<?> files ? files : List.of();
            case MODELS -> models.kept().stream().map(ResidentModel::name).toList();
            case DEVICES -> devices();
            case INSTALLABLE -> {
              List<String> available = new ArrayList<>(new DeviceBundles(context).available());
              available.removeAll(devices());
              yield available;
            }
            case POLICIES -> networks.policies();
            case SETTINGS ->
                DeclaredSettings.of(context.getBundles()).settings().stream()
                    .map(Setting::name)
                    .toList();
            case COMMANDS ->
                HelpCommand.commands(context).stream()
                    .flatMap(command -> command.syntaxes().stream())
                    .map(syntax -> syntax.command().substring("nn:".length()))
                    .toList();
          });
    }
    return words;
  }

  private List<String> devices() {
    return networks.devices().stream().map(DeviceDescription::id).distinct().toList();
  }
}
