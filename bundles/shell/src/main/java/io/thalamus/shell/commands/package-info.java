// SPDX-License-Identifier: Apache-2.0
/** The Gogo commands of scope {@code nn}, each a component that declares its syntax. */
package io.thalamus.shell.commands;
