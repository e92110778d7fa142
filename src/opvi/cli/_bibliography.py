"""Which works stand behind which pieces, and how to cite them."""

BIBTEX = {
    "opvi": """@software{opvi,
  title = {opvi: operator variational inference on {JAX}},
  author = {{The opvi developers}},
  year = {2026}
}""",
    "ranganath2016operator": """@inproceedings{ranganath2016operator,
  title = {Operator Variational Inference},
  author = {Ranganath, Rajesh and Altosaar, Jaan and Tran, Dustin and Blei, David M.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {29},
  year = {2016}
}""",
    "roeder2017sticking": """@inproceedings{roeder2017sticking,
  title = {Sticking the Landing: Simple, Lower-Variance Gradient Estimators for Variational Inference},
  author = {Roeder, Geoffrey and Wu, Yuhuai and Duvenaud, David K.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {30},
  year = {2017}
}""",
    "yin2018semi": """@inproceedings{yin2018semi,
  title = {Semi-Implicit Variational Inference},
  author = {Yin, Mingzhang and Zhou, Mingyuan},
  booktitle = {International Conference on Machine Learning},
  year = {2018}
}""",
    "hutchinson1989stochastic": """@article{hutchinson1989stochastic,
  title = {A Stochastic Estimator of the Trace of the Influence Matrix for {Laplacian} Smoothing Splines},
  author = {Hutchinson, Michael F.},
  journal = {Communications in Statistics - Simulation and Computation},
  volume = {18},
  number = {3},
  pages = {1059--1076},
  year = {1989}
}""",
    "gorham2019measuring": """@article{gorham2019measuring,
  title = {Measuring Sample Quality with Diffusions},
  author = {Gorham, Jackson and Duncan, Andrew B. and Vollmer, Sebastian J. and Mackey, Lester},
  journal = {The Annals of Applied Probability},
  volume = {29},
  number = {5},
  pages = {2884--2928},
  year = {2019}
}""",
    "liu2016kernelized": """@inproceedings{liu2016kernelized,
  title = {A Kernelized {Stein} Discrepancy for Goodness-of-Fit Tests},
  author = {Liu, Qiang and Lee, Jason and Jordan, Michael},
  booktitle = {International Conference on Machine Learning},
  year = {2016}
}""",
    "liu2016stein": """@inproceedings{liu2016stein,
  title = {Stein Variational Gradient Descent: A General Purpose {Bayesian} Inference Algorithm},
  author = {Liu, Qiang and Wang, Dilin},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {29},
  year = {2016}
}""",
    "li2016renyi": """@inproceedings{li2016renyi,
  title = {R{\\'e}nyi Divergence Variational Inference},
  author = {Li, Yingzhen and Turner, Richard E.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {29},
  year = {2016}
}""",
    "dieng2017variational": """@inproceedings{dieng2017variational,
  title = {Variational Inference via {$\\chi$} Upper Bound Minimization},
  author = {Dieng, Adji Bousso and Tran, Dustin and Ranganath, Rajesh and Paisley, John and Blei, David M.},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {30},
  year = {2017}
}""",
    "rezende2015variational": """@inproceedings{rezende2015variational,
  title = {Variational Inference with Normalizing Flows},
  author = {Rezende, Danilo Jimenez and Mohamed, Shakir},
  booktitle = {International Conference on Machine Learning},
  year = {2015}
}""",
    "papamakarios2017masked": """@inproceedings{papamakarios2017masked,
  title = {Masked Autoregressive Flow for Density Estimation},
  author = {Papamakarios, George and Pavlakou, Theo and Murray, Iain},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {30},
  year = {2017}
}""",
    "zhang2022pathfinder": """@article{zhang2022pathfinder,
  title = {Pathfinder: Parallel quasi-{Newton} Variational Inference},
  author = {Zhang, Lu and Carpenter, Bob and Gelman, Andrew and Vehtari, Aki},
  journal = {Journal of Machine Learning Research},
  volume = {23},
  number = {306},
  pages = {1--49},
  year = {2022}
}""",
    "yao2018yes": """@inproceedings{yao2018yes,
  title = {Yes, but Did It Work?: Evaluating Variational Inference},
  author = {Yao, Yuling and Vehtari, Aki and Simpson, Daniel and Gelman, Andrew},
  booktitle = {International Conference on Machine Learning},
  year = {2018}
}""",
    "phan2019composable": """@article{phan2019composable,
  title = {Composable Effects for Flexible and Accelerated Probabilistic Programming in {NumPyro}},
  author = {Phan, Du and Pradhan, Neeraj and Jankowiak, Martin},
  journal = {arXiv preprint arXiv:1912.11554},
  year = {2019}
}""",
}

# A piece, by its public name, -> the works it is from. Every fit cites the first two above.
WORKS = {
    "PathGradient": ("roeder2017sticking",),
    "SemiImplicitProgram": ("yin2018semi",),
    "Hutchinson": ("hutchinson1989stochastic",),
    "DiffusionStein": ("gorham2019measuring",),
    "KernelBall": ("liu2016kernelized", "liu2016stein"),
    "Renyi": ("li2016renyi",),
    "Chi": ("dieng2017variational",),
    "Flow": ("rezende2015variational", "papamakarios2017masked"),
    "from_numpyro": ("phan2019composable",),
    "pathfinder": ("zhang2022pathfinder",),
    "khat": ("yao2018yes",),
}
ALWAYS = ("opvi", "ranganath2016operator")
